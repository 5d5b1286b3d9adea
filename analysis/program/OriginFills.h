// Integers of which no more is seen than that counters of loops make them, or what they are subscripts of.
#pragma once

#include "analysis/program/Evaluate.h"
#include "analysis/program/Fill.h"
#include "analysis/program/HostWrites.h"
#include "analysis/program/IndexOrigin.h"

namespace restride {

/// Adds what stands for the subscripts in the records behind the pointer \p P, a parameter or a member of one, that are \p Which, Counted or
/// Drawn, and of which \p Known says nothing: those that lie near their places, or in no order. Returns their names.
std::string addFillsByOrigin(const clang::ValueDecl *P, IndexOrigin Which, std::vector<Fill> &Known, const HostWrites &Host, const Evaluator &Values,
                             const UnitFacts &Facts, clang::ASTContext &Context);

/// The same for the integers, of records or of a plain array, that are subscripts of arrays with an extent.
std::string addFillsByExtent(const clang::ValueDecl *P, std::vector<Fill> &Known, const UnitFacts &Facts, clang::ASTContext &Context);

/// The same for the integers of records that loops begin with or go up to, and that are never given a number beyond a small one.
std::string addFillsByRange(const clang::ValueDecl *P, std::vector<Fill> &Known, const Evaluator &Values, const UnitFacts &Facts, clang::ASTContext &Context);

/// The same for those that loops go up to and that the host counts: the mean.
std::string addFillsByCount(const clang::ValueDecl *P, std::vector<Fill> &Known, const HostWrites &Host, const Evaluator &Values, const UnitFacts &Facts,
                            clang::ASTContext &Context);

/// The same for those that kernels change: flags that the host's \p Source begins with one number, `broken = false`, and
/// numbers of which loops go so many trips.
std::string addFillsByFirst(const clang::ValueDecl *P, const clang::ValueDecl *Source, std::vector<Fill> &Known, const HostWrites &Host, const Evaluator &Values,
                            const UnitFacts &Facts, clang::ASTContext &Context);

/// What stands for the integers of the plain array \p Source, which a kernel finds behind \p P, if they lie near their places.
std::optional<Fill> fillOfPlainArray(const clang::ValueDecl *P, const clang::ValueDecl *Source, const HostWrites &Host, const Evaluator &Values,
                                     const UnitFacts &Facts, clang::ASTContext &Context);

} // namespace restride
