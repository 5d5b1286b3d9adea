// Arrays of numbers beside each other: `float *x, *y, *z` with as many elements
// each. Together they are the fields of a record that was never declared.
#pragma once

#include "analysis/program/ProgramFacts.h"

namespace restride {

/// A variable, parameter or member that points to an array of numbers.
struct ArrayVariable {
  size_t Array = 0;   ///< index in ArrayProgram::P.Candidates
  std::string Name;
  std::string Scope;  ///< the function or record it belongs to, or the file
  bool InFunction = false; ///< Scope is one
  std::string Slot;   ///< of a parameter: the same for all declarations of its function
  bool Device = false; ///< a kernel's parameter
  bool Declared = false; ///< and no argument or value of a call
  bool Null = false; ///< an argument that is a null pointer
  Location Where;
  Candidate Sites;    ///< its uses
};

/// A program as far as its arrays of numbers go.
struct ArrayProgram {
  /// One candidate for each array: its record is the number.
  Program P;
  std::vector<ArrayVariable> Variables;
  std::vector<Range> TopLevel; ///< declarations outside of functions and classes
  std::set<unsigned> MainFiles; ///< begins of the files that are no headers
};

/// Finds every array of numbers that a kernel gets. \p Facts are about scalars.
ArrayProgram assembleArrays(ProgramFacts Facts);

/// Arrays that could be the fields of one record, by index. They are allocated
/// side by side with as many elements each, and a kernel uses them together.
struct ParallelGroup {
  std::vector<size_t> Arrays;
  /// Why they cannot be one. Not empty for arrays that are alike in all but a
  /// use that is not one of a field.
  std::vector<Refusal> Refusals;
  std::vector<std::string> Parts; ///< several arrays in one allocation
};

/// The groups worth a try, the most alike first. They may overlap. Those that
/// are refused come last.
std::vector<ParallelGroup> parallelGroups(const ArrayProgram &A);

} // namespace restride
