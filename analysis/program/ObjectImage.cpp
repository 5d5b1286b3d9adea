#include "analysis/program/ObjectImage.h"
#include "analysis/program/Evaluate.h"

#include "clang/AST/RecordLayout.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"

using namespace clang;

namespace restride {

namespace {

class Builder {
public:
  Builder(const Expr *E, llvm::StringRef Role, const Evaluator &Values, ASTContext &Context) : E(E), Role(Role.str()), Values(Values), Context(Context) {}

  ObjectImage build(QualType T, llvm::StringRef Name) {
    const uint64_t Size = Context.getTypeSizeInChars(T).getQuantity();
    if (Size > MostBytes)
      return {};
    std::vector<std::optional<uint8_t>> &Bytes = Out.Object.Bytes;
    Bytes.resize(Size);
    add(T, {}, nullptr, 0, Name.str());
    Out.Object.Head = FirstPointer.value_or(Size);
    Out.Object.Tail = LastPointer.value_or(Size);
    if (Unknown.size() == 1)
      Out.Notes.push_back(Role + " '" + Unknown.front() + "' is not known");
    else if (!Unknown.empty())
      Out.Notes.push_back(Role + "s '" + llvm::join(Unknown, "', '") + "' are not known");
    return std::move(Out);
  }

private:
  /// The scalars of \p P, which lies at \p Offset; \p F is the member it is, if it is one.
  void add(QualType T, const Part &P, const FieldDecl *F, uint64_t Offset, const std::string &Name) {
    auto within = [&](uint64_t Step) {
      Part Inner = P;
      Inner.push_back(Step);
      return Inner;
    };
    if (const ConstantArrayType *Array = Context.getAsConstantArrayType(T)) {
      const uint64_t Stride = Context.getTypeSizeInChars(Array->getElementType()).getQuantity();
      for (uint64_t I = 0; I < Array->getZExtSize(); ++I)
        add(Array->getElementType(), within(I), nullptr, Offset + I * Stride, "");
      return;
    }
    if (const CXXRecordDecl *Record = T->getAsCXXRecordDecl()) {
      if (!Record->getDefinition() || Record->isUnion() || Record->getNumBases())
        return;
      const ASTRecordLayout &Layout = Context.getASTRecordLayout(Record);
      for (const FieldDecl *Field : Record->fields())
        if (!Field->isBitField())
          add(Field->getType(), within(Field->getFieldIndex()), Field, Offset + Layout.getFieldOffset(Field->getFieldIndex()) / 8,
              Name.empty() ? "" : Name + "." + Field->getName().str());
      return;
    }
    if (T->isPointerType()) {
      FirstPointer = std::min(FirstPointer.value_or(Offset), Offset);
      LastPointer = std::max(LastPointer.value_or(Offset), Offset);
    } else if (T->isIntegralOrEnumerationType()) {
      const std::optional<Estimate> Value = Values.integer(E, P, F);
      if (Value && (F || P.empty() || !Value->Assumed))
        set(Offset, Context.getTypeSizeInChars(T).getQuantity(), uint64_t(Value->Value));
      if (!Value && !Name.empty())
        Unknown.push_back(Name);
      else if (Value && Value->Assumed && !Name.empty())
        Out.Notes.push_back(Role + " '" + Name + "' is taken as " + std::to_string(Value->Value));
    } else if (T->isSpecificBuiltinType(BuiltinType::Float) || T->isSpecificBuiltinType(BuiltinType::Double)) {
      const std::optional<RealEstimate> Value = Values.real(E, P, F);
      const bool Single = T->isSpecificBuiltinType(BuiltinType::Float);
      if (Value && !Value->Assumed.changes())
        set(Offset, Single ? 4 : 8, Single ? llvm::bit_cast<uint32_t>(float(Value->Value)) : llvm::bit_cast<uint64_t>(Value->Value));
    }
  }

  void set(uint64_t Offset, uint64_t Size, uint64_t Word) {
    for (uint64_t I = 0; I < std::min<uint64_t>(Size, 8); ++I)
      Out.Object.Bytes[Offset + I] = uint8_t(Word >> (8 * I));
  }

  static constexpr uint64_t MostBytes = 1 << 16; ///< of constant memory
  const Expr *E;
  const std::string Role;
  const Evaluator &Values;
  ASTContext &Context;
  std::vector<std::string> Unknown;
  std::optional<uint64_t> FirstPointer, LastPointer;
  ObjectImage Out;
};

} // namespace

ObjectImage objectImage(const Expr *E, QualType T, llvm::StringRef Role, llvm::StringRef Name, const Evaluator &Values, ASTContext &Context) {
  return Builder(E, Role, Values, Context).build(T, Name);
}

} // namespace restride
