// From a program's text to its PTX, unit by unit. Results are kept, since
// different plans often meet again and most leave some units as they are.
#pragma once

#include "ptx/compile/Compile.h"
#include "ptx/compile/Ptxas.h"
#include "ptx/parse/Module.h"
#include "rewriter/command/SourceCommand.h"
#include "rewriter/write/Variant.h"

#include "llvm/ADT/StringMap.h"

#include <map>
#include <mutex>
#include <set>

namespace restride {

struct CollectedUnit;

/// One translation unit of a program.
struct ProgramUnit {
  SourceCommand Command;
  std::unique_ptr<ptx::Compiler> Compiler; ///< may be null where nothing will be compiled
  std::vector<size_t> Files; ///< that it reads: indices in Program::Text
  std::set<std::string> Read = {}; ///< all files, those of the system too; absolute
  std::shared_ptr<ptx::RegisterCounts> Registers = {}; ///< null: they are estimated
  std::shared_ptr<const CollectedUnit> Facts = nullptr; ///< that --collect left; null: the unit is parsed
};

struct CompiledUnit {
  std::string Ptx;
  ptx::Module Module;
  llvm::StringMap<unsigned> Registers = {}; ///< per thread, of kernels, from ptxas
};

/// All units of one variant, in their order.
using Compiled = std::vector<std::shared_ptr<const CompiledUnit>>;

/// Thread safe.
class VariantCompiler {
public:
  /// \p OnDisk is the text of the files that compilers read by themselves; the
  /// files of a program follow each other in the same order there.
  VariantCompiler(const Sources &OnDisk, llvm::ArrayRef<ProgramUnit> Units) : OnDisk(OnDisk), Units(Units) {}
  /// Knows what \p Like does of units that are as they are on disk.
  explicit VariantCompiler(const VariantCompiler &Like);
  llvm::Expected<Compiled> compile(const Rewritten &Text);
  /// Unit \p U was compiled with this text before, without an error.
  bool knows(size_t U, const Rewritten &Text);
  /// The files of unit \p U that \p Text changes.
  std::vector<ptx::SourceText> changed(size_t U, const Rewritten &Text) const;

private:
  const Sources &OnDisk;
  llvm::ArrayRef<ProgramUnit> Units;
  mutable std::mutex Lock;
  std::map<std::pair<size_t, std::vector<std::string>>, std::shared_ptr<const CompiledUnit>> Known;
};

} // namespace restride
