// Facts and scores as the values of a report.
#pragma once

#include "rewriter/decide/Grouping.h"
#include "rewriter/decide/Report.h"
#include "rewriter/decide/Scoring.h"

namespace restride {

/// How the user names files, from how the compiler does.
class FileNames {
public:
  /// \p Commands of the program's units.
  explicit FileNames(llvm::ArrayRef<const SourceCommand *> Commands);
  /// As the user typed it; of other files, from the current folder if they lie in it.
  std::string spell(llvm::StringRef Path) const;

  /// Locations are from now on places in \p Now, which was written from \p Before.
  void follow(const Sources &Before, const Rewritten &Now);
  /// In the user's own text.
  Report::Place place(const Location &L) const;

private:
  struct Step;
  std::vector<std::pair<std::string, std::string>> Known;
  std::vector<std::shared_ptr<const Step>> Steps; ///< the first from the user's text
};

/// What the kernels of \p S, whose code is \p Text, ask of the fields of candidates.
FieldUse fieldUse(const Program &P, const cost::Score &S, const Rewritten &Text);

/// What is known of a candidate before anything is scored.
Report::Candidate describe(const Candidate &C, const FileNames &Names);
Report::Refusal describe(const Refusal &R, const FileNames &Names);
/// One scored variant; accesses get the lines of the original and field names.
Report::Variant describe(const Candidate &C, const Program &P, const Layout &L, const cost::Score &S, const Rewritten &Text,
                         const FileNames &Names);

} // namespace restride
