#include "ptx/compile/RecordCopies.h"

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

/// None: its fields are not known, or one of them is larger than a register.
static std::optional<SmallVector<Field>> fieldsOf(const MemCpyInst &Copy) {
  const MDNode *Fields = Copy.getMetadata(LLVMContext::MD_tbaa_struct);
  const ConstantInt *Length = dyn_cast<ConstantInt>(Copy.getLength());
  if (!Fields || !Length || Copy.isVolatile() || Fields->getNumOperands() < 6) // the copy of one field is a load already
    return std::nullopt;
  SmallVector<Field> Out;
  uint64_t End = 0, Alignment = 1;
  for (unsigned I = 0; I + 2 < Fields->getNumOperands(); I += 3) {
    const Field One{mdconst::extract<ConstantInt>(Fields->getOperand(I))->getZExtValue(),
                    mdconst::extract<ConstantInt>(Fields->getOperand(I + 1))->getZExtValue(), cast<MDNode>(Fields->getOperand(I + 2))};
    if (!isPowerOf2_64(One.Bytes) || One.Bytes > 8 || One.Offset < End)
      return std::nullopt;
    Out.push_back(One);
    End = One.Offset + One.Bytes;
    Alignment = std::max(Alignment, One.Bytes);
  }
  for (uint64_t At = alignTo(End, Alignment); At < Length->getZExtValue() && Out.size() <= MostFields; ++At)
    Out.push_back({At, 1, nullptr});
  if (Out.size() > MostFields || End > Length->getZExtValue())
    return std::nullopt;
  return Out;
}

static void copyFields(MemCpyInst &Copy, ArrayRef<Field> Fields) {
  IRBuilder<> Builder(&Copy);
  auto at = [&](Value *Base, const Field &F) { return Builder.CreateConstInBoundsGEP1_64(Builder.getInt8Ty(), Base, F.Offset); };
  SmallVector<Value *> Loaded;
  for (const Field &F : Fields) {
    LoadInst *Load = Builder.CreateAlignedLoad(Builder.getIntNTy(unsigned(8 * F.Bytes)), at(Copy.getRawSource(), F),
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
    if (const std::optional<SmallVector<Field>> Fields = fieldsOf(*Copy)) {
      copyFields(*Copy, *Fields);
      Changed = true;
    }
  if (!StrictAliasing)
    for (Instruction &I : instructions(F))
      for (unsigned Kind : {LLVMContext::MD_tbaa, LLVMContext::MD_tbaa_struct})
        I.setMetadata(Kind, nullptr);
  return Changed || !StrictAliasing ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace restride::ptx
