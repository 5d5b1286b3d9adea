#include "rewriter/Hook.h"

#include "rewriter/command/QuickLook.h"

#include "llvm/ADT/STLExtras.h"

namespace restride {

llvm::Expected<std::vector<Options>> hookRuns(const Options &O) {
  Options Program = O;
  Program.Files.clear();
  Program.Flags.LacksAreFine = true;
  Program.Flags.FirstErrorOnly = !O.Strict;
  std::vector<Options> Out;
  bool ProgramHasKernel = false;
  for (const std::string &File : O.Files) {
    if (isHeader(File))
      continue;
    llvm::Expected<SourceCommand> Command = commandFor(File, Program.Flags);
    if (!Command)
      return Command.takeError();
    bool HasKernel = mayHaveKernel(*Command);
    if (Command->InDatabase) {
      Program.Files.push_back(File);
      ProgramHasKernel |= HasKernel;
    } else if (HasKernel) {
      Out.push_back(Program);
      Out.back().Files = {File};
    }
  }
  if (ProgramHasKernel)
    Out.insert(Out.begin(), std::move(Program));
  return Out;
}

} // namespace restride
