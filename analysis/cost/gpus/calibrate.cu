// Measures the GPU it runs on and prints a profile for restride --gpu=FILE.yaml.
// Written by restride --calibrate, which fills in what is carried over. By hand:
//   nvcc -O3 -std=c++17 -arch=native gpu.cu -o gpu-calibrate
//   ./gpu-calibrate > gpu.yaml
// Best on an idle GPU; takes a few seconds and at most 3 GB of device memory.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

// Constants of the cost model that no benchmark here can find.
static const char Carried[] = R"yaml(@CARRIED@)yaml";

static void check(cudaError_t E, const char *What) {
  if (E == cudaSuccess)
    return;
  std::fprintf(stderr, "%s: %s\n", What, cudaGetErrorString(E));
  std::exit(E == cudaErrorNoDevice || E == cudaErrorInsufficientDriver ? 3 : 1); // 3: there is no GPU
}
#define CHECK(Call) check(Call, #Call)

static cudaDeviceProp Gpu;
static double GHz; // of the SMs while they work

template <typename T> static T *allocate(size_t Count) {
  T *Out = nullptr;
  CHECK(cudaMalloc(&Out, Count * sizeof(T)));
  CHECK(cudaMemset(Out, 0, Count * sizeof(T)));
  return Out;
}

/// Milliseconds of one run of Work, the best of several.
template <typename Work> static double time(Work Run, int Times = 7) {
  cudaEvent_t Begin, End;
  CHECK(cudaEventCreate(&Begin));
  CHECK(cudaEventCreate(&End));
  float Best = 1e30f;
  for (int I = 0; I < Times; ++I) {
    CHECK(cudaEventRecord(Begin));
    Run();
    CHECK(cudaEventRecord(End));
    CHECK(cudaEventSynchronize(End));
    float Ms;
    CHECK(cudaEventElapsedTime(&Ms, Begin, End));
    Best = std::min(Best, Ms);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventDestroy(Begin));
  CHECK(cudaEventDestroy(End));
  return Best;
}

static double cycles(double Ms) { return Ms * 1e6 * GHz; }

// --- clock ------------------------------------------------------------------

__global__ void spin(long long Cycles, long long *Out) {
  unsigned long long T0, T1;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(T0));
  long long C0 = clock64();
  while (clock64() - C0 < Cycles)
    ;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(T1));
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    Out[0] = clock64() - C0;
    Out[1] = T1 - T0;
  }
}

static double clockGHz() {
  long long *Device = allocate<long long>(2), Host[2];
  for (int I = 0; I < 2; ++I) // the first one wakes the GPU up
    spin<<<Gpu.multiProcessorCount, 128>>>(100'000'000, Device);
  CHECK(cudaMemcpy(Host, Device, sizeof(Host), cudaMemcpyDeviceToHost));
  CHECK(cudaFree(Device));
  return double(Host[0]) / double(Host[1]);
}

// --- latency: each load's address is the value of the one before --------------

template <bool InL1> __device__ unsigned follow(const unsigned *P) {
  unsigned Value;
  if (InL1)
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(Value) : "l"(P));
  else
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(Value) : "l"(P));
  return Value;
}

template <bool InL1> __global__ void chase(const unsigned *Next, unsigned Warmup, unsigned Steps, long long *Out) {
  unsigned P = 0;
  for (unsigned I = 0; I < Warmup; ++I)
    P = follow<InL1>(Next + P);
  long long Begin = clock64();
  for (unsigned I = 0; I < Steps; ++I)
    P = follow<InL1>(Next + P);
  Out[0] = clock64() - Begin;
  Out[1] = P; // so that nothing is left out
}

/// Block 0 follows a chain; warps of the others fetch lines, each one at a time.
__global__ void chaseBesideOthers(const unsigned *Next, unsigned Steps, const unsigned *Lines, unsigned Count,
                                  long long *Out) {
  if (blockIdx.x > 0) {
    unsigned Line = blockIdx.x * 977 + threadIdx.x / 32 * 131, Sum = 0;
    for (unsigned I = 0; I < Steps; ++I) {
      Sum = follow<false>(Lines + size_t(Line % Count) * 32 + threadIdx.x % 32);
      Line = Line * 1664525 + 1013904223 + Sum; // Sum is 0, but the next address waits for it
    }
    if (Sum == 12345)
      Out[2] = Sum;
    return;
  }
  if (threadIdx.x > 0)
    return;
  unsigned P = 0;
  long long Begin = clock64();
  for (unsigned I = 0; I < Steps; ++I)
    P = follow<false>(Next + P);
  Out[0] = clock64() - Begin;
  Out[1] = P;
}

/// A single random cycle through the lines (128 bytes) of Bytes bytes.
static unsigned *makeChain(size_t Bytes) {
  constexpr unsigned Words = 32;
  unsigned Lines = unsigned(Bytes / 128);
  std::vector<unsigned> Order(Lines), Next(size_t(Lines) * Words);
  std::iota(Order.begin(), Order.end(), 0u);
  std::shuffle(Order.begin() + 1, Order.end(), std::mt19937(1));
  for (unsigned I = 0; I < Lines; ++I)
    Next[size_t(Order[I]) * Words] = Order[(I + 1) % Lines] * Words;
  unsigned *Out = allocate<unsigned>(Next.size());
  CHECK(cudaMemcpy(Out, Next.data(), Next.size() * sizeof(unsigned), cudaMemcpyHostToDevice));
  return Out;
}

/// Warmup: steps before those that count; 0: nothing is in L2 at the start.
template <bool InL1> static double latency(size_t Bytes, unsigned Warmup, unsigned Steps) {
  unsigned *Next = makeChain(Bytes);
  if (!Warmup)
    CHECK(cudaFree(allocate<char>(size_t(Gpu.l2CacheSize) * 2)));
  long long *Device = allocate<long long>(3), Host;
  chase<InL1><<<1, 1>>>(Next, Warmup, Steps, Device);
  CHECK(cudaMemcpy(&Host, Device, sizeof(Host), cudaMemcpyDeviceToHost));
  CHECK(cudaFree(Next));
  CHECK(cudaFree(Device));
  return double(Host) / Steps;
}

/// With WarpsPerSm warps per SM that wait for DRAM all the time.
static double loadedDramLatency(size_t Bytes, unsigned WarpsPerSm) {
  constexpr unsigned Steps = 4000, BlockWarps = 8;
  unsigned *Next = makeChain(Bytes), *Lines = allocate<unsigned>(Bytes / 4);
  long long *Device = allocate<long long>(3), Host;
  unsigned Blocks = 1 + Gpu.multiProcessorCount * WarpsPerSm / BlockWarps;
  chaseBesideOthers<<<Blocks, BlockWarps * 32>>>(Next, Steps, Lines, unsigned(Bytes / 128), Device);
  CHECK(cudaMemcpy(&Host, Device, sizeof(Host), cudaMemcpyDeviceToHost));
  for (void *P : {(void *)Next, (void *)Lines, (void *)Device})
    CHECK(cudaFree(P));
  return double(Host) / Steps;
}

/// Each thread reads a byte of four fields of one element after the other. Those of Tile elements lie together.
__global__ void readFields(const unsigned char *Data, unsigned Elements, unsigned Tile, unsigned *Out) {
  unsigned Sum = 0;
  for (unsigned I = blockIdx.x * blockDim.x + threadIdx.x; I < Elements; I += gridDim.x * blockDim.x) {
    const unsigned char *P = Data + size_t(I / Tile) * 4 * Tile + I % Tile;
    Sum += P[0] + P[Tile] + P[2 * size_t(Tile)] + P[3 * size_t(Tile)];
  }
  if (Sum == 12345)
    *Out = Sum;
}

/// Cycles, one standard deviation, by which DRAM's rows come sooner or later than the mean. Who waits for four of them,
/// of four arrays, waits for the last, one deviation later than who waits for one.
static double dramDeviation(size_t Bytes) {
  constexpr unsigned Threads = 256, BlocksPerSm = 8;
  const unsigned Elements = unsigned(Bytes / 4), Blocks = Gpu.multiProcessorCount * BlocksPerSm;
  auto *Data = allocate<unsigned char>(Bytes + 4);
  auto read = [&](unsigned Tile) { return time([&] { readFields<<<Blocks, Threads>>>(Data, Elements, Tile, (unsigned *)(Data + Bytes)); }); };
  const double Apart = read(Elements), Together = read(64);
  CHECK(cudaFree(Data));
  return std::max(0.0, cycles(Apart - Together)) * Blocks * Threads / Elements;
}

/// The largest chain that L1 keeps.
static double l1Bytes(double Hit, double Miss) {
  size_t Largest = 8 << 10;
  for (size_t Bytes = 8 << 10; Bytes <= (512 << 10); Bytes += 8 << 10) {
    unsigned Lines = unsigned(Bytes / 128);
    if (latency<true>(Bytes, 3 * Lines, 4 * Lines) > Hit + 0.1 * (Miss - Hit))
      break;
    Largest = Bytes;
  }
  return double(Largest);
}

// --- bandwidth --------------------------------------------------------------

__global__ void readL1(const float *Data, unsigned Words, int Rounds, float *Out) {
  float Sum = 0;
  for (int I = 0; I < Rounds; ++I)
    for (unsigned At = threadIdx.x; At < Words; At += blockDim.x * 8)
#pragma unroll
      for (int J = 0; J < 8; ++J) {
        float Value;
        asm volatile("ld.global.ca.f32 %0, [%1];" : "=f"(Value) : "l"(Data + At + J * blockDim.x));
        Sum += Value;
      }
  if (Sum == 12345.f)
    *Out = Sum;
}

static double l1BytesPerCycle() {
  constexpr unsigned Words = 8192, Rounds = 2000; // 32 KB
  float *Data = allocate<float>(Words + 1);
  double Ms = time([&] { readL1<<<Gpu.multiProcessorCount, 1024>>>(Data, Words, Rounds, Data + Words); });
  CHECK(cudaFree(Data));
  return double(Words) * 4 * Rounds / cycles(Ms);
}

/// Every block reads all of it, from a start of its own.
__global__ void sweep(const uint4 *Data, unsigned Count, int Rounds, unsigned *Out) {
  unsigned Sum = 0, Stride = gridDim.x * blockDim.x;
  for (int R = 0; R < Rounds; ++R)
    for (unsigned I = blockIdx.x * blockDim.x + threadIdx.x; I + 3 * Stride < Count; I += 4 * Stride)
#pragma unroll
      for (int J = 0; J < 4; ++J) {
        uint4 V = __ldcg(Data + I + J * Stride);
        Sum += V.x ^ V.y ^ V.z ^ V.w;
      }
  if (Sum == 12345)
    *Out = Sum;
}

__global__ void copy(const uint4 *From, uint4 *To, unsigned Count, int Rounds) {
  unsigned Stride = gridDim.x * blockDim.x;
  for (int R = 0; R < Rounds; ++R)
    for (unsigned I = blockIdx.x * blockDim.x + threadIdx.x; I + 3 * Stride < Count; I += 4 * Stride) {
      uint4 V[4];
#pragma unroll
      for (int J = 0; J < 4; ++J)
        V[J] = __ldcg(From + I + J * Stride);
#pragma unroll
      for (int J = 0; J < 4; ++J)
        To[I + J * Stride] = V[J];
    }
}

/// Bytes of a multiple of what all threads read at a time, so that none is left out.
static size_t wholeTurns(size_t Bytes, unsigned Blocks) {
  size_t Turn = size_t(Blocks) * 256 * 4 * sizeof(uint4);
  return std::max<size_t>(1, Bytes / Turn) * Turn;
}

/// Bytes per cycle and SM of reading Bytes again and again; of a copy, half of them read and half written.
static double sweepRate(size_t Bytes, bool Copies) {
  unsigned Blocks = Gpu.multiProcessorCount * 2;
  size_t Part = wholeTurns(Copies ? Bytes / 2 : Bytes, Blocks);
  int Rounds = int(std::max<size_t>(4, (size_t(1) << 30) / Part));
  char *Data = allocate<char>(2 * Part);
  unsigned Count = unsigned(Part / sizeof(uint4));
  auto *From = reinterpret_cast<uint4 *>(Data), *To = reinterpret_cast<uint4 *>(Data + Part);
  double Ms = time([&] {
    if (Copies)
      copy<<<Blocks, 256>>>(From, To, Count, Rounds);
    else
      sweep<<<Blocks, 256>>>(From, Count, Rounds, reinterpret_cast<unsigned *>(To));
  });
  CHECK(cudaFree(Data));
  return double(Part) * (Copies ? 2 : 1) * Rounds / cycles(Ms) / Gpu.multiProcessorCount;
}

__global__ void fill(uint4 *To, unsigned Count, int Rounds) {
  for (int R = 0; R < Rounds; ++R)
    for (unsigned I = blockIdx.x * blockDim.x + threadIdx.x; I < Count; I += gridDim.x * blockDim.x)
      To[I] = make_uint4(R, R, R, R);
}

/// Cycles of an SM per sector of storing Bytes again and again.
static double storeCycles(size_t Bytes) {
  unsigned Blocks = Gpu.multiProcessorCount * 8, Count = unsigned(Bytes / sizeof(uint4));
  int Rounds = int(std::max<size_t>(4, (size_t(1) << 30) / Bytes));
  auto *Data = allocate<uint4>(Count);
  double Ms = time([&] { fill<<<Blocks, 256>>>(Data, Count, Rounds); });
  CHECK(cudaFree(Data));
  return cycles(Ms) * Gpu.multiProcessorCount / (double(Bytes) / 32 * Rounds);
}

/// The size at which copies fall half way from L2's speed to DRAM's.
static double l2Knee() {
  double Fast = sweepRate(Gpu.l2CacheSize / 8, true), Slow = sweepRate(size_t(Gpu.l2CacheSize) * 4, true);
  double Last = Gpu.l2CacheSize / 8.0;
  for (int Eighths = 2; Eighths <= 16; ++Eighths) {
    double Bytes = Gpu.l2CacheSize * (Eighths / 8.0);
    if (sweepRate(size_t(Bytes), true) < (Fast + Slow) / 2)
      break;
    Last = Bytes;
  }
  return Last;
}

/// A warp and line per block, of which an SM holds few: what all of it takes is the mean time that a line is waited for.
__global__ void readOnce(const unsigned *Data, unsigned *Out) {
  extern __shared__ unsigned Room[];
  if (__ldcg(Data + size_t(blockIdx.x) * 32 + threadIdx.x) == 12345)
    *Out = Room[0];
}

/// The size of which launches, one after the other, find half in L2.
static double l2ResidentBytes() {
  constexpr int BlocksPerSm = 4, Steps = 16;
  const size_t Most = size_t(Gpu.l2CacheSize) * 4, Room = Gpu.sharedMemPerMultiprocessor / BlocksPerSm - 1024;
  CHECK(cudaFuncSetAttribute(readOnce, cudaFuncAttributeMaxDynamicSharedMemorySize, int(Room)));
  auto *Data = allocate<unsigned>(Most / 4 + 1);
  auto perLine = [&](size_t Bytes) {
    unsigned Lines = unsigned(Bytes / 128);
    return time([&] { readOnce<<<Lines, 32, Room>>>(Data, Data + Most / 4); }) / Lines;
  };
  const double Half = (perLine(Gpu.l2CacheSize / 8) + perLine(Most)) / 2;
  double Below = 0, BelowBytes = Gpu.l2CacheSize, Found = Gpu.l2CacheSize;
  for (int Step = Steps / 8; Step <= 2 * Steps; ++Step) {
    const double Bytes = Gpu.l2CacheSize * (double(Step) / Steps), Time = perLine(size_t(Bytes));
    if (Time >= Half) {
      Found = Below > 0 ? BelowBytes + (Bytes - BelowBytes) * (Half - Below) / (Time - Below) : Bytes;
      break;
    }
    Below = Time, BelowBytes = Bytes;
  }
  CHECK(cudaFree(Data));
  return Found;
}

/// What a kernel that touches everything once gets: the grid is as large as the data.
__global__ void streamCopy(const uint4 *From, uint4 *To) {
  size_t I = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  To[I] = From[I];
}

static double dramBytesPerCycle(size_t Bytes) {
  auto *From = allocate<uint4>(Bytes / 16), *To = allocate<uint4>(Bytes / 16);
  double Ms = time([&] { streamCopy<<<unsigned(Bytes / 16 / 256), 256>>>(From, To); });
  CHECK(cudaFree(From));
  CHECK(cudaFree(To));
  return 2.0 * Bytes / cycles(Ms) / Gpu.multiProcessorCount;
}

// --- random accesses --------------------------------------------------------

/// Every lane reads 4 bytes of random lines, LineWords apart, and 4 more Apart words further if Apart is not 0.
__global__ void gather(const unsigned *Data, unsigned LineMask, unsigned LineWords, unsigned Apart, int Rounds, unsigned *Out) {
  unsigned Sum = 0, Seed = (blockIdx.x * blockDim.x + threadIdx.x) * unsigned(Rounds) * 4;
  for (int R = 0; R < Rounds; ++R)
#pragma unroll
    for (int J = 0; J < 4; ++J) {
      unsigned Hash = Seed++ * 0x9E3779B1u; // neighbours must not lie at equal distances
      Hash = (Hash ^ Hash >> 15) * 0x85EBCA77u;
      const unsigned *P = Data + size_t((Hash ^ Hash >> 13) & LineMask) * LineWords;
      Sum += __ldcg(P);
      if (Apart)
        Sum += __ldcg(P + Apart);
    }
  if (Sum == 12345)
    *Out = Sum;
}

/// Cycles of an SM per warp and line. Bytes and LineBytes are powers of two.
static double gatherCycles(const unsigned *Data, size_t Bytes, unsigned Apart, unsigned *Out, unsigned LineBytes = 128) {
  constexpr int Rounds = 32;
  unsigned Blocks = Gpu.multiProcessorCount * 32;
  unsigned Mask = unsigned(Bytes / LineBytes) - 1;
  double Ms = time([&] { gather<<<Blocks, 256>>>(Data, Mask, LineBytes / 4, Apart, Rounds, Out); });
  return cycles(Ms) * Gpu.multiProcessorCount / (double(Blocks) * 256 * Rounds * 4);
}

struct RandomCosts {
  double Granule = 64;                     // bytes
  double HitCycles = 0, SectorCycles = 0, GranuleCycles = 0;
  double L2Bytes = 0;                      // what random reads find
  double TlbBytes = 0, TranslationCycles = 0;
};

static size_t powerOfTwoAtMost(double Bytes) {
  size_t Out = 1;
  while (Out * 2 <= size_t(Bytes))
    Out *= 2;
  return Out;
}

static RandomCosts randomCosts(size_t Most) {
  RandomCosts Out;
  size_t Bytes = powerOfTwoAtMost(double(Most)), L2 = powerOfTwoAtMost(Gpu.l2CacheSize);
  unsigned *Data = allocate<unsigned>(Bytes / 4 + 1), *Sink = Data + Bytes / 4;
  double One = gatherCycles(Data, Bytes, 0, Sink), Near = gatherCycles(Data, Bytes, 8, Sink),
         Far = gatherCycles(Data, Bytes, 16, Sink);
  // Where the next sector costs much less than one of the next 64 bytes, it came with the first.
  Out.Granule = Near < 0.9 * Far ? 64 : Near > 1.5 * One ? 32 : 128;
  Out.SectorCycles = Out.Granule == 32 ? 0 : std::max(0.0, Near - One);
  Out.GranuleCycles = std::max(0.0, One - Out.SectorCycles);
  Out.HitCycles = gatherCycles(Data, L2 / 8, 0, Sink);
  // time(F) = miss * (1 - capacity / F), from two footprints F that DRAM serves.
  const double F2 = std::min(8.0 * L2, double(Bytes)), F1 = F2 / 4;
  const double Ratio = gatherCycles(Data, size_t(F1), 0, Sink) / gatherCycles(Data, size_t(F2), 0, Sink);
  Out.L2Bytes = std::clamp((1 - Ratio) / (1 / F1 - Ratio / F2), 0.0, double(Gpu.l2CacheSize));
  // Lines that L2 holds, far apart: time(R) = translation * (1 - capacity / R), from two ranges R.
  unsigned Apart = unsigned(Bytes / (L2 / 8) * 128);
  double Whole = gatherCycles(Data, Bytes, 0, Sink, Apart), Half = gatherCycles(Data, Bytes / 2, 0, Sink, Apart / 2);
  if (Whole > 1.1 * Out.HitCycles && Whole > 1.01 * Half && 2 * Whole > Half) {
    Out.TranslationCycles = 2 * Whole - Half;
    Out.TlbBytes = Bytes * (1 - Whole / Out.TranslationCycles);
  }
  CHECK(cudaFree(Data));
  return Out;
}

/// Each lane reads the first of two words and writes it: what it read and one more, or, without waiting, a constant.
template <bool Waits> __global__ void readAndWrite(unsigned *Data, unsigned *Out) {
  unsigned Value, *P = Data + 2 * (size_t(blockIdx.x) * blockDim.x + threadIdx.x);
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(Value) : "l"(P) : "memory");
  asm volatile("st.global.u32 [%0], %1;" ::"l"(P), "r"(Waits ? Value + 1 : 7) : "memory");
  if (!Waits && Value == 12345)
    *Out = Value;
}

/// Cycles of an SM by which a sector costs more if its line is still on its way from DRAM when it is written.
static double conflictSectorCycles(size_t Bytes) {
  constexpr double SectorsPerWarp = 8;
  unsigned Blocks = unsigned(Bytes / 8 / 256);
  auto *Data = allocate<unsigned>(Bytes / 4 + 1);
  double Late = time([&] { readAndWrite<true><<<Blocks, 256>>>(Data, Data + Bytes / 4); });
  double Early = time([&] { readAndWrite<false><<<Blocks, 256>>>(Data, Data + Bytes / 4); });
  CHECK(cudaFree(Data));
  return std::max(0.0, cycles(Early - Late)) * Gpu.multiProcessorCount / (double(Blocks) * 8 * SectorsPerWarp);
}

/// Each lane writes a sector, Apart of them from one to the next.
__global__ void storeApart(uint4 *Data, size_t Apart) {
  uint4 *P = Data + (size_t(blockIdx.x) * blockDim.x + threadIdx.x) * Apart * 2;
  P[0] = P[1] = make_uint4(1, 2, 3, 4);
}

/// Cycles of an SM for a line of which one sector is written, alone in its row of DRAM.
static double writeBackCycles(size_t Bytes) {
  constexpr size_t Apart = 32;
  unsigned Blocks = unsigned(Bytes / 32 / Apart / 256);
  auto *Data = allocate<uint4>(Bytes / 16);
  double Ms = time([&] { storeApart<<<Blocks, 256>>>(Data, Apart); });
  CHECK(cudaFree(Data));
  return cycles(Ms) * Gpu.multiProcessorCount / (double(Blocks) * 256);
}

/// Every warp adds to one counter, once: ptxas lets one lane do it.
__global__ void countUp(unsigned *Counter, unsigned *Out) {
  if (atomicAdd(Counter, 1u) == ~0u)
    *Out = 1;
}

static double atomicCycles() {
  constexpr unsigned Blocks = 1 << 16, Warps = 8;
  auto *Counter = allocate<unsigned>(2);
  double Ms = time([&] { countUp<<<Blocks, Warps * 32>>>(Counter, Counter + 1); });
  CHECK(cudaFree(Counter));
  return cycles(Ms) / (double(Blocks) * Warps);
}

__global__ void nothing() {}

static double launchCycles() {
  constexpr int Launches = 1000;
  return cycles(time([] {
           for (int I = 0; I < Launches; ++I)
             nothing<<<1, 32>>>();
         })) / Launches;
}

// --- the profile ------------------------------------------------------------

static void number(const char *Key, double Value, const char *Note) {
  std::printf("%s: %.*f%s%s\n", Key, Value < 100 && Value != double(long(Value)) ? 2 : 0, Value, *Note ? "  # " : "", Note);
}

int main() {
  CHECK(cudaGetDeviceProperties(&Gpu, 0));
  size_t Free, Total;
  CHECK(cudaMemGetInfo(&Free, &Total));
  size_t Large = std::min<size_t>(Free / 4, size_t(1) << 30) / (1 << 20) * (1 << 20), L2 = Gpu.l2CacheSize;
  GHz = clockGHz();
  int Driver = 0;
  CHECK(cudaDriverGetVersion(&Driver));
  double L1 = latency<true>(16 << 10, 512, 20000), InL2 = latency<false>(L2 / 16, unsigned(L2 / 16 / 128), 20000);
  double Idle = latency<false>(std::min(Large, 3 * L2), 0, 20000), Loaded = loadedDramLatency(std::min(Large, 3 * L2), 32);
  RandomCosts Random = randomCosts(Large);

  std::printf("# %s, measured by restride --calibrate.\n", Gpu.name);
  std::printf("Name: \"%s\"\n", Gpu.name);
  std::printf("Source: \"measured on one %s (driver for CUDA %d.%d, benchmarks built with CUDA %d.%d); fits carried over\"\n",
              Gpu.name, Driver / 1000, Driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
  std::printf("Arch: sm_%d%d\n", Gpu.major, Gpu.minor);
  number("Sms", Gpu.multiProcessorCount, "");
  number("ClockGHz", GHz, "of busy SMs");
  std::printf("\n# %.1f bytes per cycle and SM from L1, %zu MB of L2 reported\n", l1BytesPerCycle(), L2 >> 20);
  number("L1Bytes", l1Bytes(L1, InL2), "largest chain of loads that stays in L1");
  number("L2Bytes", l2Knee(), "copies of more than this fall behind half of the way to DRAM's speed");
  number("L2ResidentBytes", l2ResidentBytes(), "of reads, launch after launch, half are found");
  number("L2RandomBytes", Random.L2Bytes, "from the rates of random reads of 2 and 8 times L2");
  number("L1Latency", L1, "");
  number("L2Latency", InL2, "");
  std::printf("DramLatency: %.0f  # half of the warps waiting for DRAM too; %.0f on an idle GPU\n", Loaded, Idle);
  number("DramDeviation", dramDeviation(std::min<size_t>(Large, 256 << 20)), "of that latency, between rows");
  number("L2BytesPerCycle", sweepRate(L2 / 8, false), "per SM, reads");
  number("StoreSectorCycles", storeCycles(L2 / 8), "32 bytes stored in L2");
  number("DramBytesPerCycle", dramBytesPerCycle(Large), "per SM, a copy");
  number("DramGranule", Random.Granule, "");
  number("RandomHitCycles", Random.HitCycles, "a sector that L2 holds");
  number("RandomSectorCycles", Random.SectorCycles, "a second sector of a granule");
  number("RandomGranuleCycles", Random.GranuleCycles, "a granule, without its first sector");
  number("WriteBackCycles", writeBackCycles(Large), "a line of which one sector is written, alone in 1,024 bytes");
  number("TlbBytes", Random.TlbBytes, "range of random reads that need no page table");
  number("TranslationCycles", Random.TranslationCycles, "a lane's random access beyond that");
  number("ConflictSectorCycles", conflictSectorCycles(Large), "a sector written in part while its line comes from DRAM");
  number("AtomicCycles", atomicCycles(), "of the GPU, a warp's atomic on one address");
  number("LaunchCycles", launchCycles(), "");

  std::printf("\n# cudaGetDeviceProperties\n");
  number("MaxWarps", Gpu.maxThreadsPerMultiProcessor / Gpu.warpSize, "");
  number("MaxBlocks", Gpu.maxBlocksPerMultiProcessor, "");
  number("Registers", Gpu.regsPerMultiprocessor, "");
  number("SharedBytes", double(Gpu.sharedMemPerMultiprocessor), "");
  number("SharedReserved", double(Gpu.reservedSharedMemPerBlock), "");
  std::printf("%s", Carried);
}
