#include "rewriter/write/MethodCode.h"

#include "rewriter/write/AccessEdits.h"
#include "rewriter/write/ElementCode.h"

#include "llvm/ADT/StringExtras.h"

namespace restride {

std::string methodFunction(const Candidate &C, const MethodUse &Use) {
  std::vector<std::string> Words = Use.Path;
  Words.push_back(C.Methods[Use.Method].Name);
  return llvm::join(Words, "_");
}

/// \p Prefix leads to the object of the function that \p Calls are in.
static std::optional<Refusal> objection(const Candidate &C, llvm::ArrayRef<MemberCall> Calls, std::vector<Step> Prefix, bool Twice,
                                        std::set<MethodUse> &Seen) {
  for (const MemberCall &Call : Calls) {
    std::vector<Step> Path = Prefix;
    Path.insert(Path.end(), Call.Path.begin(), Call.Path.end());
    bool WithSubscripts = false;
    if (leafDepth(C.Type, Path, WithSubscripts)) {
      if (Twice && Call.What.At.Impure)
        return Refusal{"", *Call.What.At.Impure, "the index has side effects and would be evaluated twice"};
      continue;
    }
    MethodUse Use{{}, Call.Method};
    for (const Step &S : Path)
      Use.Path.push_back(S.Member);
    const Method &M = C.Methods[Call.Method];
    if (!M.Refusals.empty())
      return M.Refusals.front();
    if (Seen.insert(Use).second)
      if (std::optional<Refusal> R = objection(C, M.Calls, Path, Twice, Seen))
        return R;
  }
  return std::nullopt;
}

std::optional<Refusal> memberCallObjection(const Candidate &C, const Layout &L) {
  std::set<MethodUse> Seen;
  return objection(C, C.MemberCalls, {}, llvm::StringRef(L.accessPattern("")).count("$i") > 1, Seen);
}

namespace {

class MethodWriter {
public:
  MethodWriter(const Move &M, const Sources &Text, HelperNeeds &Needs) : M(M), Text(Text), Needs(Needs) {}

  /// \p Use and, before it, what it calls.
  llvm::Error write(const MethodUse &Use) {
    if (!Done.insert(Use).second)
      return llvm::Error::success();
    const Method &Function = M.C.Methods[Use.Method];
    HelperNeeds Mine;
    std::vector<Edit> Edits = edits(Function, Use.Path, Mine);
    Needs.Load |= Mine.Load, Needs.Store |= Mine.Store;
    Needs.PartStores.insert(Mine.PartStores.begin(), Mine.PartStores.end());
    for (const MethodUse &Callee : Mine.Methods)
      if (llvm::Error E = write(Callee))
        return E;
    std::string Out = head(Function, Use);
    for (const Range &P : Function.Parameters) {
      llvm::Expected<std::string> One = applyEdits(Text, P, Edits);
      if (!One)
        return One.takeError();
      Out += ", " + *One;
    }
    llvm::Expected<std::string> Body = applyEdits(Text, Function.Body, Edits);
    if (!Body)
      return Body.takeError();
    Code.push_back(Out + ") " + *Body + "\n");
    return llvm::Error::success();
  }

  std::vector<std::string> Code;

private:
  std::string head(const Method &F, const MethodUse &Use) const {
    std::string Name = elementFunction(M.C.Type, M.Handle, methodFunction(M.C, Use));
    Name = Name.substr(Name.rfind(':') + 1);
    std::string Inline = M.C.Type.Private && F.Inline == "inline" ? "" : F.Inline + " ";
    return "static " + Inline + F.Attributes + F.Result + " " + Name + "(" + (F.Const && !M.L.handleIsStruct() ? "const " : "") + M.Handle +
           (M.L.handleIsStruct() ? " " : " *") + F.Pointer + ", ptrdiff_t " + F.Index;
  }

  std::vector<Edit> edits(const Method &F, const std::vector<std::string> &Path, HelperNeeds &Mine) const {
    std::vector<Step> Prefix;
    for (const std::string &Name : Path)
      Prefix.push_back({Name, {}});
    std::vector<Edit> Out;
    for (Access A : F.Accesses) {
      A.Path.insert(A.Path.begin(), Prefix.begin(), Prefix.end());
      if (!Path.empty() && A.K == Access::Load)
        A.K = Access::PartLoad;
      else if (!Path.empty() && A.K == Access::Store)
        A.K = Access::PartStore;
      Out.push_back(*accessEdit(M, A, Mine));
    }
    for (MemberCall C : F.Calls) {
      C.Path.insert(C.Path.begin(), Prefix.begin(), Prefix.end());
      Out.push_back(*memberCallEdit(M, C, Mine));
    }
    for (const SizeOf &S : F.Sizes)
      Out.push_back({S.Operand, {"(" + F.Class + ")"}});
    for (const Range &R : F.Returns) {
      bool Last = Text.text({R.End, F.Body.End}).trim() == "}";
      Out.push_back({R, {Last ? "" : "return;"}});
    }
    for (const ScopedName &N : F.Names)
      Out.push_back({N.Name, {N.Scope + Text.text(N.Name).str()}});
    return Out;
  }

  const Move &M;
  const Sources &Text;
  HelperNeeds &Needs;
  std::set<MethodUse> Done;
};

} // namespace

llvm::Expected<std::vector<std::string>> methodCode(const Move &M, const Sources &Text, HelperNeeds &Needs) {
  MethodWriter W(M, Text, Needs);
  for (const MethodUse &Use : Needs.Methods)
    if (llvm::Error E = W.write(Use))
      return E;
  return std::move(W.Code);
}

} // namespace restride
