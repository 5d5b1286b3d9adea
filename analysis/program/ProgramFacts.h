// What the translation units of a program say, as values, before arrays are
// told apart. Units are read one after the other; Assemble.h makes candidates
// of all of them together.
#pragma once

#include "analysis/program/Flow.h"
#include "analysis/program/Launches.h"

namespace restride {

struct ProgramFacts {
  explicit ProgramFacts(std::string Root = "", Elements Of = Elements::Records) : Text(std::move(Root)), Graph(Of) {}

  Sources Text;
  Flow Graph;
  std::vector<Declaration> Declarations; ///< a declarator's Candidate is a node
  std::vector<LaunchSite> Launches;
  std::set<std::string> Identifiers;
  std::set<std::string> Handles; ///< types that an earlier run wrote
  std::set<unsigned> MainFiles;  ///< their begins
  std::set<unsigned> HostFiles;  ///< those of plain C++
  bool HostUnits = false;
  unsigned Units = 0;            ///< read so far
  std::map<Place, std::set<unsigned>> MemberWriters; ///< units that give a member values
  std::vector<Range> TopLevel;   ///< declarations outside of functions and classes
  /// Text that the preprocessor leaves out in every unit that reads the file,
  /// by the file's begin.
  std::map<unsigned, std::vector<Range>> Skipped;
};

/// Adds what \p Context says. \p Alone: the program has no other unit. \p Again:
/// it is the device's side of a unit whose host's side was read. Returns the files that the unit reads, its main file first, as indices in Text.
std::vector<size_t> readUnit(clang::ASTContext &Context, llvm::ArrayRef<SkippedRange> Skipped, bool Alone, bool Again,
                             ProgramFacts &Out);

} // namespace restride
