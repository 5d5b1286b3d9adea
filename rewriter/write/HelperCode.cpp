#include "rewriter/write/HelperCode.h"

#include "rewriter/write/ElementCode.h"
#include "rewriter/write/ManagedCode.h"
#include "rewriter/write/OwnerCode.h"
#include "rewriter/write/SymbolCode.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

namespace restride {

std::string handleName(const Record &R, const Layout &L, const std::vector<std::string> &Taken) {
  std::string Base = R.Name.substr(R.Name.rfind(':') == std::string::npos ? 0 : R.Name.rfind(':') + 1);
  bool Lower = std::none_of(Base.begin(), Base.end(), [](char C) { return llvm::isUpper(C); });
  std::string Name = Base + (Lower ? "_" + L.suffix().lower() : L.suffix().str());
  // A helper's name has the handle's in front, so all of them must be free.
  auto IsTaken = [&](const std::string &N) {
    return std::any_of(Taken.begin(), Taken.end(), [&](const std::string &T) { return llvm::StringRef(T).starts_with(N); });
  };
  std::string Free = Name;
  for (unsigned I = 2; IsTaken(Free); ++I)
    Free = Name + std::to_string(I);
  return Free;
}

bool isHelperWord(llvm::StringRef Name) {
  static constexpr llvm::StringRef Words[] = {"Raw", "base", "bytes", "dst", "e",    "first", "flags",   "freed",  "from", "i",    "kind", "n",
                                              "p",    "r",     "src", "args", "stream", "staging", "to",     "value",
                                              "pitch", "packed", "symbol", "field", "Extent", "rest", "Rest"};
  return llvm::is_contained(Words, Name) || (Name.size() == 1 && Name[0] >= 'j');
}

std::string helperName(llvm::StringRef Handle, HostCall::Api What) {
  static constexpr llvm::StringRef Names[] = {"from", "malloc", "mallocManaged", "mallocAsync", "free",       "freeAsync",
                                              "memcpy", "memcpyAsync",   "memset",      "memsetAsync", "hostMemset", "memPrefetchAsync", "memAdvise",
                                              "memcpyToSymbol", "memcpyToSymbolAsync", "memcpyFromSymbol", "memcpyFromSymbolAsync"};
  return (Handle + "_" + Names[What]).str();
}

namespace {

/// Writes the helpers of one record in one layout.
class Writer {
public:
  Writer(const Record &R, const Layout &L, llvm::StringRef Handle)
      : R(R), L(L), H(Handle.str()), Value(L.handleIsStruct() ? H + " " : H + " *"),
        ConstValue(L.handleIsStruct() ? H + " " : "const " + H + " *") {}

  std::string run(HelperNeeds N);

private:
  std::string shift() const;
  std::string allocate(HostCall::Api What) const;
  std::string release(HostCall::Api What) const;
  std::string conversionKernels(const HelperNeeds &N) const;
  std::string copies(const std::set<HostCall::Api> &Apis, const std::string &Parameters, const std::string &Arguments,
                     const std::string &Body) const;
  std::string copyIn(const HelperNeeds &N) const;
  std::string copyOut(const HelperNeeds &N) const;
  std::string copyWithin(const HelperNeeds &N) const;
  std::string fill(const HelperNeeds &N) const;
  std::string from(const HelperNeeds &N) const;

  const Record &R;
  const Layout &L;
  std::string H, Value, ConstValue;
};

} // namespace

std::string Writer::shift() const {
  std::string Out = "static inline __host__ __device__ " + H + " " + H + "_at(" + H + " p, ptrdiff_t i) {\n";
  for (const HandleArray &One : L.arrays(R, H))
    Out += "  p" + One.pointer() + " += i;\n";
  return Out + "  return p;\n}\n";
}

std::string Writer::allocate(HostCall::Api What) const {
  std::string Extra, Pass;
  std::string Call = "cudaMalloc";
  if (What == HostCall::MallocManaged) {
    Call = "cudaMallocManaged", Extra = ", unsigned flags = cudaMemAttachGlobal", Pass = ", flags";
  } else if (What == HostCall::MallocAsync) {
    Call = "cudaMallocAsync", Extra = ", cudaStream_t stream", Pass = ", stream";
  }
  std::string Out = "static inline cudaError_t " + helperName(H, What) + "(" + (L.handleIsStruct() ? H + " *p" : H + " **p") +
                    ", size_t bytes" + Extra + ") {\n";
  std::string Count = "(bytes + sizeof(" + R.Name + ") - 1) / sizeof(" + R.Name + ")";
  std::string Granule = std::to_string(L.countGranule());
  if (!L.handleIsStruct()) {
    Out += "  size_t n = " + Count + ";\n";
    std::string Elements = L.countGranule() == 1 ? "n" : "(n + " + std::to_string(L.countGranule() - 1) + ") / " + Granule;
    return Out + "  return " + Call + "((void **)p, " + Elements + " * sizeof(" + H + ")" + Pass + ");\n}\n";
  }
  std::vector<HandleArray> All = L.arrays(R, H);
  uint64_t Total = 0;
  for (const HandleArray &One : All)
    Total += One.Size * One.Arrays;
  Out += "  size_t n = " + Count + ";\n";
  Out += "  n = (n + " + std::to_string(L.countGranule() - 1) + ") / " + Granule + " * " + Granule + "; // keeps every array aligned\n";
  Out += "  char *base = nullptr;\n";
  Out += "  cudaError_t e = " + Call + "((void **)&base, n * " + std::to_string(Total) + Pass + ");\n";
  uint64_t Before = 0;
  for (const HandleArray &One : All) {
    std::string Pointer = One.Extents.empty() ? One.Type + " *" : One.Type + " (*)" + One.Extents;
    Out += "  p->" + One.pointer().substr(1) + " = (" + Pointer + ")" +
           (Before ? "(base + n * " + std::to_string(Before) + ");\n" : "base;\n");
    if (One.Arrays > 1)
      Out += "  p->" + One.pitch().substr(1) + " = n;\n";
    Before += One.Size * One.Arrays;
  }
  return Out + "  return e;\n}\n";
}

std::string Writer::release(HostCall::Api What) const {
  bool Async = What == HostCall::FreeAsync;
  return "static inline cudaError_t " + helperName(H, What) + "(" + H + " p" + (Async ? ", cudaStream_t stream" : "") + ") { return " +
         (Async ? "cudaFreeAsync" : "cudaFree") + "((void *)p" + L.arrays(R, H)[0].pointer() + (Async ? ", stream" : "") + "); }\n";
}

static const char *const EveryElement = "  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;\n"
                                        "  if (i < n)\n";

std::string Writer::conversionKernels(const HelperNeeds &N) const {
  auto Load = [&](const std::string &P, const std::string &I) {
    return L.elementIsRecord() ? P + "[" + I + "]" : elementFunction(R, H, "load") + "(" + P + ", " + I + ")";
  };
  auto Store = [&](const std::string &P, const std::string &I, const std::string &V) { return elementStore(R, L, H, P, I, V); };
  auto At = [](bool Offset, const char *First) { return Offset ? std::string(First) + " + i" : std::string("i"); };
  auto Parameter = [](bool Offset, const char *First) { return Offset ? std::string("ptrdiff_t ") + First + ", " : std::string(); };
  auto Kernel = [&](const char *Name, const std::string &Parameters, const std::string &Before, const std::string &Body) {
    return "\nstatic __global__ void " + H + "_" + Name + "(" + Parameters + "size_t n) {\n" + Before + EveryElement + "    " + Body + "\n}\n";
  };
  std::string Out;
  if (!N.In.empty() || N.From)
    Out += Kernel("scatter", Value + "dst, " + Parameter(N.InAt, "first") + "const " + R.Name + " *src, ", "",
                  Store("dst", At(N.InAt, "first"), "src[i]"));
  if (!N.Out.empty())
    Out += Kernel("gather", R.Name + " *dst, " + ConstValue + "src, " + Parameter(N.OutAt, "first"), "",
                  "dst[i] = " + Load("src", At(N.OutAt, "first")) + ";");
  if (!N.Within.empty())
    Out += Kernel("copy", Value + "dst, " + Parameter(N.WithinAt, "to") + ConstValue + "src, " + Parameter(N.WithinAt, "from"), "",
                  Store("dst", At(N.WithinAt, "to"), Load("src", At(N.WithinAt, "from"))));
  if (!N.Fill.empty())
    Out += Kernel("fill", Value + "dst, " + Parameter(N.FillAt, "first") + "int value, ", filledRecord(R), Store("dst", At(N.FillAt, "first"), "r"));
  return Out;
}

/// cudaMemcpy and cudaMemcpyAsync of one direction. \p Body enqueues on `stream`
/// and leaves its error in `e`.
std::string Writer::copies(const std::set<HostCall::Api> &Apis, const std::string &Parameters, const std::string &Arguments,
                           const std::string &Body) const {
  bool Async = Apis.count(HostCall::MemcpyAsync), Sync = Apis.count(HostCall::Memcpy);
  std::string Check = "  size_t n = bytes / sizeof(" + R.Name + ");\n  if (n * sizeof(" + R.Name +
                      ") != bytes)\n    return cudaErrorInvalidValue;\n  if (n == 0)\n    return cudaSuccess;\n";
  std::string Out;
  if (Async)
    Out += "static inline cudaError_t " + helperName(H, HostCall::MemcpyAsync) + "(" + Parameters + ", cudaStream_t stream = 0) {\n" + Check +
           Body + "  return e;\n}\n";
  if (Sync && Async)
    Out += "static inline cudaError_t " + helperName(H, HostCall::Memcpy) + "(" + Parameters + ") {\n  cudaError_t e = " +
           helperName(H, HostCall::MemcpyAsync) + "(" + Arguments + ");\n  return e == cudaSuccess ? cudaStreamSynchronize(0) : e;\n}\n";
  else if (Sync)
    Out += "static inline cudaError_t " + helperName(H, HostCall::Memcpy) + "(" + Parameters + ") {\n" + Check +
           "  cudaStream_t stream = 0;\n" + Body + "  return e == cudaSuccess ? cudaStreamSynchronize(stream) : e;\n}\n";
  return Out;
}

/// The arguments of a conversion kernel, for launch() below. Not `<<<...>>>`:
/// its error could only be asked for together with those of the program's own
/// launches.
static std::string launchArguments(const std::string &Names) {
  std::string Out = "  void *args[] = {";
  for (llvm::StringRef Name : llvm::split(Names, ", "))
    Out += "&" + Name.str() + ", ";
  return Out + "&n};\n";
}

static std::string launch(const std::string &Kernel) {
  return "cudaLaunchKernel((const void *)" + Kernel + ", dim3((n + 255) / 256), dim3(256), args, 0, stream);\n";
}

/// The staging buffer is taken and given back on the caller's stream.
static std::string staged(const Record &R, const std::string &Work) {
  return "  " + R.Name + " *staging = nullptr;\n" +
         "  cudaError_t e = cudaMallocAsync((void **)&staging, bytes, stream);\n"
         "  if (e != cudaSuccess)\n    return e;\n" +
         Work +
         "  cudaError_t freed = cudaFreeAsync(staging, stream);\n"
         "  if (e == cudaSuccess)\n    e = freed;\n";
}

std::string Writer::copyIn(const HelperNeeds &N) const {
  std::string First = N.InAt ? "first, " : "";
  std::string Work = launchArguments("dst, " + First + "staging") + "  e = cudaMemcpyAsync(staging, src, bytes, kind, stream);\n" +
                     "  if (e == cudaSuccess)\n    e = " + launch(H + "_scatter");
  return copies(N.In, Value + "dst, " + (N.InAt ? "ptrdiff_t first, " : "") + "const void *src, size_t bytes, cudaMemcpyKind kind",
                "dst, " + First + "src, bytes, kind", staged(R, Work));
}

std::string Writer::copyOut(const HelperNeeds &N) const {
  std::string First = N.OutAt ? "first, " : "";
  std::string Work = launchArguments(std::string("staging, src") + (N.OutAt ? ", first" : "")) + "  e = " + launch(H + "_gather") +
                     "  if (e == cudaSuccess)\n    e = cudaMemcpyAsync(dst, staging, bytes, kind, stream);\n";
  return copies(N.Out, "void *dst, " + ConstValue + "src, " + (N.OutAt ? "ptrdiff_t first, " : "") + "size_t bytes, cudaMemcpyKind kind",
                "dst, src, " + First + "bytes, kind", staged(R, Work));
}

std::string Writer::copyWithin(const HelperNeeds &N) const {
  std::string Body = launchArguments(N.WithinAt ? "dst, to, src, from" : "dst, src") + "  cudaError_t e = " + launch(H + "_copy");
  return copies(N.Within,
                Value + "dst, " + (N.WithinAt ? "ptrdiff_t to, " : "") + ConstValue + "src, " + (N.WithinAt ? "ptrdiff_t from, " : "") +
                    "size_t bytes, cudaMemcpyKind",
                N.WithinAt ? "dst, to, src, from, bytes, cudaMemcpyDeviceToDevice" : "dst, src, bytes, cudaMemcpyDeviceToDevice", Body);
}

std::string Writer::fill(const HelperNeeds &N) const {
  std::string Out;
  for (HostCall::Api What : N.Fill) {
    bool Async = What == HostCall::MemsetAsync;
    Out += "static inline cudaError_t " + helperName(H, What) + "(" + Value + "dst, " + (N.FillAt ? "ptrdiff_t first, " : "") +
           "int value, size_t bytes" + (Async ? ", cudaStream_t stream = 0" : "") + ") {\n" + "  size_t n = bytes / sizeof(" + R.Name +
           ");\n  if (n * sizeof(" + R.Name + ") != bytes)\n    return cudaErrorInvalidValue;\n  if (n == 0)\n    return cudaSuccess;\n" +
           (Async ? "" : "  cudaStream_t stream = 0;\n") + launchArguments(std::string("dst, ") + (N.FillAt ? "first, " : "") + "value") +
           "  return " + launch(H + "_fill") + "}\n";
  }
  return Out;
}

/// Records in memory of their own, which is freed: the layout, or null where that cannot be.
std::string Writer::from(const HelperNeeds &N) const {
  const std::string Free = L.handleIsStruct() ? "(void *)dst" + L.arrays(R, H)[0].pointer() : "dst";
  return "static inline " + Value + helperName(H, HostCall::From) + "(const " + R.Name + " *src, size_t bytes) {\n" +
         "  " + Value + "dst = {};\n"
         "  size_t n = bytes / sizeof(" + R.Name + ");\n"
         "  if (!src || n * sizeof(" + R.Name + ") != bytes || " + helperName(H, HostCall::Malloc) + "(&dst, bytes) != cudaSuccess) {\n"
         "    cudaFree((void *)src);\n    return {};\n  }\n" +
         (N.InAt ? "  ptrdiff_t first = 0;\n" : "") +
         "  cudaStream_t stream = 0;\n" + launchArguments(std::string("dst, ") + (N.InAt ? "first, " : "") + "src") +
         "  cudaError_t e = " + launch(H + "_scatter") +
         "  if (e == cudaSuccess)\n    e = cudaStreamSynchronize(stream);\n"
         "  if (e != cudaSuccess) {\n    cudaFree(" + Free + ");\n    dst = {};\n  }\n"
         "  cudaFree((void *)src);\n  return dst;\n}\n";
}

/// The definition of a struct with functions after its fields.
static std::string withMembers(const std::string &Definition, llvm::ArrayRef<std::string> Functions) {
  std::string Out = Definition.substr(0, Definition.rfind("};"));
  for (const std::string &F : Functions)
    Out += "\n" + F;
  return Out + "};\n";
}

/// A definition that a compiler reads which knows no word of CUDA's.
static std::string withoutCuda(std::string Definition) {
  for (size_t At; (At = Definition.find("__align__(")) != std::string::npos;)
    Definition.replace(At, 9, "alignas");
  std::string Out;
  for (llvm::StringRef Rest = Definition; !Rest.empty();) {
    const auto [Line, After] = Rest.split('\n');
    const llvm::StringRef Words = Line.ltrim(), Indent = Line.drop_back(Words.size());
    if (constexpr llvm::StringRef Spaces = "__host__ __device__ "; Words.starts_with(Spaces))
      Out += (Indent + "#ifdef __CUDACC__\n" + Indent + Spaces.rtrim() + "\n" + Indent + "#endif\n" + Indent + Words.drop_front(Spaces.size()) + "\n").str();
    else
      Out += (Line + "\n").str();
    Rest = After;
  }
  return Out;
}

std::string Writer::run(HelperNeeds N) {
  bool Moves = !L.elementIsRecord();
  auto Symbol = [&](HostCall::Api What) { return N.Symbol.count(What) || N.Symbol.count(HostCall::Api(What + 1)); };
  N.Load |= Moves && Symbol(HostCall::MemcpyFromSymbol);
  N.Store |= Moves && Symbol(HostCall::MemcpyToSymbol);
  N.Load |= Moves && (!N.Out.empty() || !N.Within.empty());
  N.Store |= Moves && (!N.In.empty() || N.From || !N.Within.empty() || !N.Fill.empty() || N.HostFill);
  std::vector<std::string> Elements;
  if (N.Load && Moves)
    Elements.push_back(loadFunction(R, L, H));
  if (N.Store && Moves)
    Elements.push_back(storeFunction(R, L, H));
  for (const std::vector<std::string> &Path : N.PartStores)
    Elements.push_back(storeFunction(R, L, H, Path));
  Elements.insert(Elements.end(), N.MethodCode.begin(), N.MethodCode.end());
  std::vector<std::string> Parts{L.definition(R, H)};
  if (R.Private && !Elements.empty())
    Parts[0] = withMembers(Parts[0], Elements);
  else
    Parts.insert(Parts.end(), Elements.begin(), Elements.end());
  if (Moves) // another field, or another size of one, would be lost
    Parts[0] += "static_assert(sizeof(" + R.Name + ") == " + std::to_string(R.Size) + ", \"" + H + " has the fields of " + R.Name + "\");\n";
  if (N.Shift)
    Parts.push_back(shift());
  for (HostCall::Api What : N.Allocate)
    Parts.push_back(allocate(What));
  for (HostCall::Api What : N.Release)
    Parts.push_back(release(What));
  if (!N.Owner.empty())
    Parts.push_back(ownerCode(R, L, H, N.Owner));
  if (std::string Kernels = conversionKernels(N); !Kernels.empty())
    Parts.push_back(Kernels.substr(1));
  if (!N.In.empty())
    Parts.push_back(copyIn(N));
  if (N.From)
    Parts.push_back(from(N));
  if (!N.Out.empty())
    Parts.push_back(copyOut(N));
  if (!N.Within.empty())
    Parts.push_back(copyWithin(N));
  if (!N.Fill.empty())
    Parts.push_back(fill(N));
  for (const auto &[Element, Needs] : N.Fields)
    Parts.push_back(fieldCopyCode(Element, L.handleIsStruct() ? 1 : L.countGranule(), Needs));
  llvm::append_range(Parts, managedCode(R, L, H, N));
  llvm::append_range(Parts, symbolCode(R, L, H, N));
  if (N.ForHost)
    Parts[0] = withoutCuda(std::move(Parts[0]));
  std::string Out;
  bool Guarded = false;
  for (const std::string &P : Parts) {
    if (N.ForHost && !Guarded && &P != &Parts.front()) {
      Out += "\n#ifdef __CUDACC__";
      Guarded = true;
    }
    if (!P.empty())
      Out += "\n" + P;
  }
  return Guarded ? Out + "#endif\n" : Out;
}

std::string helperCode(const Record &R, const Layout &L, llvm::StringRef Handle, const HelperNeeds &Needs) {
  return Writer(R, L, Handle).run(Needs);
}

} // namespace restride
