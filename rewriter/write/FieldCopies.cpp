#include "rewriter/write/FieldCopies.h"

#include "analysis/program/FieldCopyCode.h"

#include "llvm/Support/MathExtras.h"

namespace restride {

std::string fieldCopyName(llvm::StringRef Handle, HostCall::Api What) {
  bool Fill = What == HostCall::Memset || What == HostCall::MemsetAsync;
  bool Async = What == HostCall::MemcpyAsync || What == HostCall::MemsetAsync;
  return Handle.str() + (Fill ? "_memset" : "_memcpy") + (Async ? "Async" : "");
}

void FieldCopyNeeds::add(HostCall::Api What, unsigned Argument) {
  bool Fill_ = What == HostCall::Memset || What == HostCall::MemsetAsync;
  (Fill_ ? Fill : Argument == 0 ? In : Out).insert(What);
}

namespace {

/// nvcc's stubs lose a kernel's parameter of member pointer type, so kernels get
/// the address of the field in the first element and step from there.
class Writer {
public:
  Writer(llvm::StringRef Handle, uint64_t Tile, bool First) : H(Handle.str()), First(Tile > 1 && First) {
    Template = Tile > 1 ? "template <typename T, size_t Extent> " : "template <typename T> ";
    Field = Tile > 1 ? "T (" + H + "::*field)[Extent]" : "T " + H + "::*field";
    if (Tile > 1) {
      std::string I = this->First ? "(first + i)" : "i";
      Offset = "(" + I + " >> " + std::to_string(llvm::Log2_64(Tile)) + ") * sizeof(" + H + ") + (" + I + " & " + std::to_string(Tile - 1) + ") * sizeof(T)";
    } else {
      Offset = "i * sizeof(" + H + ")";
    }
  }

  std::string run(const FieldCopyNeeds &N) const {
    std::string Out = fieldCopyMark(H) + "\n";
    if (!N.In.empty())
      Out += kernel("put", "char *field, ", "const T *values", "*(T *)(field + " + Offset + ") = values[i];");
    if (!N.Out.empty())
      Out += kernel("get", "const char *field, ", "T *values", "values[i] = *(const T *)(field + " + Offset + ");");
    if (!N.Fill.empty())
      Out += kernel("fill", "char *field, ", "int value", "memset(field + " + Offset + ", value, sizeof(T));");
    Out += copies(N.In, true) + copies(N.Out, false);
    for (HostCall::Api What : N.Fill)
      Out += fill(What);
    return Out;
  }

private:
  std::string first() const { return First ? "ptrdiff_t first, " : ""; }

  std::string kernel(const char *Name, const std::string &Pointer, const std::string &Values, const std::string &Body) const {
    return "template <typename T> static __global__ void " + H + "_" + Name + "(" + Pointer + first() + Values + ", size_t n) {\n" +
           "  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n)\n    " + Body + "\n}\n\n";
  }
  std::string launch(const char *Name) const {
    return "cudaLaunchKernel((const void *)" + H + "_" + Name + "<T>, dim3((unsigned)((n + 255) / 256)), dim3(256), args, 0, stream);\n";
  }
  std::string arguments(const char *Last, bool Const) const {
    return std::string(Const ? "  const char *" : "  char *") + "at = (" + (Const ? "const " : "") + "char *)&(p->*field);\n" + "  void *args[] = {&at, " +
           (First ? "&first, " : "") + "&" + Last + ", &n};\n";
  }
  static std::string count() {
    return "  size_t n = bytes / sizeof(T);\n  if (n * sizeof(T) != bytes)\n    return cudaErrorInvalidValue;\n  if (n == 0)\n    return cudaSuccess;\n";
  }

/// The staging buffer is taken and given back on the caller's stream.
  std::string copies(const std::set<HostCall::Api> &Apis, bool In) const {
    if (Apis.empty())
      return "";
    bool Async = Apis.count(HostCall::MemcpyAsync), Sync = Apis.count(HostCall::Memcpy);
    std::string Pointer = (In ? "" : "const ") + H + " *p, " + first() + Field;
    std::string Parameters = (In ? Pointer + ", const void *from" : "void *to, " + Pointer) + ", size_t bytes, cudaMemcpyKind kind";
    std::string Pass = In ? std::string("p, ") + (First ? "first, " : "") + "field, from" : std::string("to, p, ") + (First ? "first, " : "") + "field";
    std::string Body = count();
    std::string Work = "  T *values = nullptr;\n  cudaError_t e = cudaMallocAsync((void **)&values, bytes, stream);\n  if (e != cudaSuccess)\n    return e;\n" +
                       arguments("values", !In);
    if (In)
      Work += "  e = cudaMemcpyAsync(values, from, bytes, kind, stream);\n  if (e == cudaSuccess)\n    e = " + launch("put");
    else
      Work += "  e = " + launch("get") + "  if (e == cudaSuccess)\n    e = cudaMemcpyAsync(to, values, bytes, kind, stream);\n";
    Work += "  cudaError_t freed = cudaFreeAsync(values, stream);\n  if (e == cudaSuccess)\n    e = freed;\n";
    std::string Head = Template + "static inline cudaError_t ", Out;
    if (Async)
      Out += Head + fieldCopyName(H, HostCall::MemcpyAsync) + "(" + Parameters + ", cudaStream_t stream = 0) {\n" + Body + Work + "  return e;\n}\n\n";
    if (Sync && Async)
      Out += Head + fieldCopyName(H, HostCall::Memcpy) + "(" + Parameters + ") {\n  cudaError_t e = " + fieldCopyName(H, HostCall::MemcpyAsync) + "(" +
             Pass + ", bytes, kind);\n  return e == cudaSuccess ? cudaStreamSynchronize(0) : e;\n}\n\n";
    else if (Sync)
      Out += Head + fieldCopyName(H, HostCall::Memcpy) + "(" + Parameters + ") {\n" + Body + "  cudaStream_t stream = 0;\n" + Work +
             "  return e == cudaSuccess ? cudaStreamSynchronize(stream) : e;\n}\n\n";
    return Out;
  }

  std::string fill(HostCall::Api What) const {
    bool Async = What == HostCall::MemsetAsync;
    return Template + "static inline cudaError_t " + fieldCopyName(H, What) + "(" + H + " *p, " + first() + Field + ", int value, size_t bytes" +
           (Async ? ", cudaStream_t stream = 0" : "") + ") {\n" + count() + (Async ? "" : "  cudaStream_t stream = 0;\n") + arguments("value", false) +
           "  return " + launch("fill") + "}\n\n";
  }

  std::string H, Template, Field, Offset;
  bool First;
};

} // namespace

std::string fieldCopyCode(llvm::StringRef Handle, uint64_t Tile, const FieldCopyNeeds &Needs) { return Writer(Handle, Tile, Needs.At).run(Needs); }

} // namespace restride
