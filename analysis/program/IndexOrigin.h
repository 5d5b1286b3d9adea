// Where integers come from that the host writes into the members of records: from the counters of its loops, so that
// they lie near each other where the records do, or from a random generator.
#pragma once

#include "analysis/program/Evaluate.h"
#include "analysis/program/HostWrites.h"

namespace restride {

enum class IndexOrigin {
  Constant, ///< says nothing
  Counted,  ///< from counters, and at most a little beside
  Drawn,    ///< at random, or by a hash
  Unclear,
};

/// Of everything that any object gets in \p Member.
IndexOrigin indexOrigin(const clang::FieldDecl *Member, const HostWrites &Host, const Evaluator &Values, const UnitFacts &Facts, clang::ASTContext &Context);

/// The same of \p Values, what an array gets.
IndexOrigin indexOrigin(llvm::ArrayRef<const clang::Expr *> Values, const HostWrites &Host, const Evaluator &Numbers, const UnitFacts &Facts, clang::ASTContext &Context);

} // namespace restride
