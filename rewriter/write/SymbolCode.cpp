#include "rewriter/write/SymbolCode.h"

#include "rewriter/write/ElementCode.h"

namespace restride {

namespace {

/// Writes the copies of one record in one layout. Records are converted on the
/// device, in a buffer on the caller's stream: so the source is read when the
/// stream gets there, and elements behind the copied ones stay as they are.
class SymbolWriter {
public:
  SymbolWriter(const Record &R, const Layout &L, llvm::StringRef Handle)
      : R(R), L(L), H(Handle.str()), Array(L.handleIsArray()), Packed(Array ? H + "<Extent>" : H),
        Symbol(Array ? "const " + Packed + " &symbol" : "const " + H + " (&symbol)[Extent]") {}

  std::string bytes() const;
  std::string kernel(bool In) const;
  std::string async(bool In) const;
  std::string sync(bool In) const;

private:
  std::string head(bool In, bool Async) const;
  std::string toSymbol() const;

  const Record &R;
  const Layout &L;
  std::string H;
  bool Array;
  std::string Packed; ///< type of one record of arrays, or of one element
  std::string Symbol; ///< as a parameter
};

} // namespace

static const char *const ForEveryExtent = "template <size_t Extent>\n";

std::string SymbolWriter::bytes() const {
  std::string Parameter = Symbol.substr(0, Symbol.find("symbol")) + (Array ? "" : ")[Extent]");
  return std::string(ForEveryExtent) + "static inline constexpr __host__ __device__ size_t " + H + "_bytes(" + Parameter +
         ") { // of the records\n  return Extent * sizeof(" + R.Name + ");\n}\n";
}

std::string SymbolWriter::kernel(bool In) const {
  std::string Parameters = In ? Packed + " *dst, const " + R.Name + " *src" : R.Name + " *dst, const " + Packed + " *src";
  std::string Body;
  if (Array)
    Body = In ? elementFunction(R, H, "store") + "(*dst, i, src[i]);" : "dst[i] = " + elementFunction(R, H, "load") + "(*src, i);";
  else
    Body = In ? "static_cast<" + R.Name + " &>(dst[i]) = src[i];" : "dst[i] = src[i];";
  return (Array ? ForEveryExtent : "") + std::string("static __global__ void ") + H + (In ? "_pack(" : "_unpack(") + Parameters +
         ", size_t n) {\n  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n)\n    " + Body + "\n}\n";
}

std::string SymbolWriter::head(bool In, bool Async) const {
  HostCall::Api What = HostCall::Api((In ? HostCall::MemcpyToSymbol : HostCall::MemcpyFromSymbol) + Async);
  return ForEveryExtent + std::string("static inline cudaError_t ") + helperName(H, What) + "(" +
         (In ? Symbol + ", const void *src" : "void *dst, " + Symbol) + ", size_t bytes, size_t = 0, cudaMemcpyKind kind = " +
         (In ? "cudaMemcpyHostToDevice" : "cudaMemcpyDeviceToHost") + (Async ? ", cudaStream_t stream = 0" : "") + ") {\n";
}

/// Copies what is packed; of a structure of arrays the front of each.
std::string SymbolWriter::toSymbol() const {
  if (!Array)
    return "  if (e == cudaSuccess)\n"
           "    e = cudaMemcpyToSymbolAsync(symbol, packed, n * sizeof(*packed), 0, cudaMemcpyDeviceToDevice, stream);\n";
  std::string Out = "  auto field = [&](const void *from, size_t size) {\n    if (e == cudaSuccess)\n"
                    "      e = cudaMemcpyToSymbolAsync(symbol, from, n * size, (const char *)from - (const char *)packed, "
                    "cudaMemcpyDeviceToDevice, stream);\n  };\n";
  for (const Leaf &One : leaves(R))
    Out += "  field(packed->" + One.Path.substr(1) + ", " + std::to_string(One.Size) + ");\n";
  return Out;
}

std::string SymbolWriter::async(bool In) const {
  std::string Out = head(In, true);
  Out += "  size_t n = bytes / sizeof(" + R.Name + ");\n  if (n * sizeof(" + R.Name +
         ") != bytes || n > Extent)\n    return cudaErrorInvalidValue;\n  if (n == 0)\n    return cudaSuccess;\n";
  Out += "  char *base = nullptr;\n"
         "  size_t first = (bytes + 255) / 256 * 256;\n"
         "  cudaError_t e = cudaMallocAsync((void **)&base, first + sizeof(symbol), stream);\n"
         "  if (e != cudaSuccess)\n    return e;\n";
  Out += "  " + R.Name + " *staging = (" + R.Name + " *)base;\n  " + Packed + " *packed = (" + Packed + " *)(base + first);\n";
  Out += std::string("  void *args[] = {") + (In ? "&packed, &staging" : "&staging, &packed") + ", &n};\n";
  std::string Launch = "  if (e == cudaSuccess)\n    e = cudaLaunchKernel((const void *)" + H + (In ? "_pack" : "_unpack") +
                       (Array ? "<Extent>" : "") + ", dim3((n + 255) / 256), dim3(256), args, 0, stream);\n";
  if (In)
    Out += "  e = cudaMemcpyAsync(staging, src, bytes, kind, stream);\n" + Launch + toSymbol();
  else
    Out += "  e = cudaMemcpyFromSymbolAsync(packed, symbol, sizeof(symbol), 0, cudaMemcpyDeviceToDevice, stream);\n" + Launch +
           "  if (e == cudaSuccess)\n    e = cudaMemcpyAsync(dst, staging, bytes, kind, stream);\n";
  return Out + "  cudaError_t freed = cudaFreeAsync(base, stream);\n  return e == cudaSuccess ? freed : e;\n}\n";
}

std::string SymbolWriter::sync(bool In) const {
  HostCall::Api What = In ? HostCall::MemcpyToSymbolAsync : HostCall::MemcpyFromSymbolAsync;
  return head(In, false) + "  cudaError_t e = " + helperName(H, What) + (In ? "(symbol, src" : "(dst, symbol") +
         ", bytes, 0, kind);\n  return e == cudaSuccess ? cudaStreamSynchronize(0) : e;\n}\n";
}

std::vector<std::string> symbolCode(const Record &R, const Layout &L, llvm::StringRef Handle, const HelperNeeds &Needs) {
  SymbolWriter W(R, L, Handle);
  std::vector<std::string> Out;
  if (Needs.ArrayBytes)
    Out.push_back(W.bytes());
  for (bool In : {true, false}) {
    HostCall::Api Sync = In ? HostCall::MemcpyToSymbol : HostCall::MemcpyFromSymbol;
    if (!Needs.Symbol.count(Sync) && !Needs.Symbol.count(HostCall::Api(Sync + 1)))
      continue;
    Out.push_back(W.kernel(In));
    Out.push_back(W.async(In));
    if (Needs.Symbol.count(Sync))
      Out.push_back(W.sync(In));
  }
  return Out;
}

} // namespace restride
