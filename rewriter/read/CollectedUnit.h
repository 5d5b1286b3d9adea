// What --collect leaves of one translation unit for --decide: how it was
// compiled, what was read, its AST, and the PTX of its text as it is. One file
// each, so that processes on a shared file system can make them side by side.
#pragma once

#include "rewriter/read/Parse.h"

#include "llvm/Support/MemoryBuffer.h"

namespace restride {

/// One side's parse.
struct CollectedSide {
  llvm::StringRef Ast; ///< bytes for loadAst, in CollectedUnit::File
  std::vector<SkippedRange> Skipped;
  std::vector<std::string> UserFiles;
};

struct CollectedUnit {
  std::shared_ptr<const llvm::MemoryBuffer> File;
  SourceCommand Command; ///< as the database has it
  std::string Toolkit;
  std::vector<std::string> NvccMacros;
  std::set<std::string> Read;
  std::set<std::string> Files; ///< that it hangs on, precompiled headers too; absolute
  CollectedSide Host;
  std::optional<CollectedSide> Device; ///< where text is for the device alone
  std::string PtxKey;                  ///< how Ptx was compiled; empty: there is none
  llvm::StringRef Ptx;

  bool reads(llvm::StringRef Path) const;
};

/// Where the facts of the unit lie: FOLDER/src/sim.cu.facts for src/sim.cu of the
/// working directory, as a build's rules would name it.
std::string collectedFile(llvm::StringRef Folder, const SourceCommand &Command);

/// All below \p Folder; none is an error.
llvm::Expected<std::vector<std::string>> collectedFiles(llvm::StringRef Folder);

std::string packUnit(const CollectedUnit &U);

/// Fails for another version's, broken and outdated facts.
llvm::Expected<std::shared_ptr<const CollectedUnit>> readUnitFile(const std::string &Path);

/// A side of \p U as if it had been parsed now.
llvm::Expected<ParsedSource> loadSide(const CollectedUnit &U, ptx::Side Side);

} // namespace restride
