#include "ptx/compile/RecordCopies.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

namespace restride::ptx {
using namespace llvm;

namespace {

struct Field {
  uint64_t Offset = 0, Bytes = 0;
  MDNode *Tag = nullptr; ///< null: bytes that belong to no field
};

} // namespace

/// A larger record is copied by a loop.
static constexpr size_t MostFields = 64;

/// A field, or an array in pieces that registers hold.
static void addField(SmallVectorImpl<Field> &Out, uint64_t Offset, uint64_t Bytes, MDNode *Tag) {
  constexpr uint64_t Most = 8;
  for (const uint64_t End = Offset + Bytes; Offset < End && Out.size() <= MostFields;) {
    const uint64_t Piece = std::min({Most, uint64_t(1) << countr_zero(Offset | Most), bit_floor(End - Offset)});
    Out.push_back({Offset, Piece, Tag});
    Offset += Piece;
  }
}

/// None: its fields are not known.
static std::optional<SmallVector<Field>> fieldsOf(const MemCpyInst &Copy, uint64_t Length) {
  const MDNode *Fields = Copy.getMetadata(LLVMContext::MD_tbaa_struct);
  if (!Fields || Fields->getNumOperands() < 6) // the copy of one field is a load already
    return std::nullopt;
  SmallVector<Field> Out;
  uint64_t End = 0, Alignment = 1;
  for (unsigned I = 0; I + 2 < Fields->getNumOperands(); I += 3) {
    const uint64_t Offset = mdconst::extract<ConstantInt>(Fields->getOperand(I))->getZExtValue();
    const uint64_t Bytes = mdconst::extract<ConstantInt>(Fields->getOperand(I + 1))->getZExtValue();
    if (!Bytes || Offset < End)
      return std::nullopt;
    const size_t First = Out.size();
    addField(Out, Offset, Bytes, cast<MDNode>(Fields->getOperand(I + 2)));
    Alignment = std::max(Alignment, Out[First].Bytes);
    End = Offset + Bytes;
  }
  for (uint64_t At = alignTo(End, Alignment); At < Length && Out.size() <= MostFields; ++At)
    Out.push_back({At, 1, nullptr});
  if (Out.size() > MostFields || End > Length)
    return std::nullopt;
  return Out;
}

/// From memory to memory, four words at a time.
static std::optional<SmallVector<Field>> quadsOf(const MemCpyInst &Copy, uint64_t Length) {
  constexpr uint64_t Quad = 16;
  auto isLocal = [](const Value *Pointer) { return isa<AllocaInst>(getUnderlyingObject(Pointer)); };
  if (std::min(Copy.getSourceAlign().valueOrOne(), Copy.getDestAlign().valueOrOne()) < Quad || Length % Quad || !Length || Length > Quad * MostFields ||
      isLocal(Copy.getRawSource()) || isLocal(Copy.getRawDest()))
    return std::nullopt;
  SmallVector<Field> Out;
  for (uint64_t At = 0; At < Length; At += Quad)
    Out.push_back({At, Quad, nullptr});
  return Out;
}

static std::optional<SmallVector<Field>> partsOf(const MemCpyInst &Copy) {
  const ConstantInt *Length = dyn_cast<ConstantInt>(Copy.getLength());
  if (!Length || Copy.isVolatile())
    return std::nullopt;
  std::optional<SmallVector<Field>> Quads = quadsOf(Copy, Length->getZExtValue());
  return Quads ? std::move(Quads) : fieldsOf(Copy, Length->getZExtValue());
}

static void copyFields(MemCpyInst &Copy, ArrayRef<Field> Fields) {
  IRBuilder<> Builder(&Copy);
  auto at = [&](Value *Base, const Field &F) { return Builder.CreateConstInBoundsGEP1_64(Builder.getInt8Ty(), Base, F.Offset); };
  SmallVector<Value *> Loaded;
  for (const Field &F : Fields) {
    Type *Whole = F.Bytes > 8 ? cast<Type>(FixedVectorType::get(Builder.getInt32Ty(), unsigned(F.Bytes / 4))) : Builder.getIntNTy(unsigned(8 * F.Bytes));
    LoadInst *Load = Builder.CreateAlignedLoad(Whole, at(Copy.getRawSource(), F),
                                               commonAlignment(Copy.getSourceAlign().valueOrOne(), F.Offset));
    Load->setMetadata(LLVMContext::MD_tbaa, F.Tag);
    Loaded.push_back(Load);
  }
  for (auto [F, Value] : zip_equal(Fields, Loaded)) {
    StoreInst *Store = Builder.CreateAlignedStore(Value, at(Copy.getRawDest(), F), commonAlignment(Copy.getDestAlign().valueOrOne(), F.Offset));
    Store->setMetadata(LLVMContext::MD_tbaa, F.Tag);
  }
  Copy.eraseFromParent();
}

PreservedAnalyses RecordCopies::run(Function &F, FunctionAnalysisManager &) {
  SmallVector<MemCpyInst *> Copies;
  for (Instruction &I : instructions(F))
    if (MemCpyInst *Copy = dyn_cast<MemCpyInst>(&I))
      Copies.push_back(Copy);
  bool Changed = false;
  for (MemCpyInst *Copy : Copies)
    if (const std::optional<SmallVector<Field>> Parts = partsOf(*Copy)) {
      copyFields(*Copy, *Parts);
      Changed = true;
    }
  if (!StrictAliasing)
    for (Instruction &I : instructions(F))
      for (unsigned Kind : {LLVMContext::MD_tbaa, LLVMContext::MD_tbaa_struct})
        I.setMetadata(Kind, nullptr);
  return Changed || !StrictAliasing ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace restride::ptx
