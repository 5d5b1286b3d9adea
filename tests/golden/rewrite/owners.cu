// Arrays that a std::unique_ptr owns, of which the deleter does nothing but cudaFree.
// RUN: rm -rf %t && mkdir -p %t && %strip %s > %t/in.cu
// RUN: %restride --quiet --emit-variants=%t/out %t/in.cu -- -std=c++17 > /dev/null
// RUN: FileCheck %s --check-prefix=PATIENT --input-file=%t/out/Patient/soa/in.cu
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t/out/Patient/asta32/in.cu
// RUN: FileCheck %s --check-prefix=SLOT --input-file=%t/out/Slot/soa/in.cu
// RUN: FileCheck %s --check-prefix=KEY --input-file=%t/out/Key/soa/in.cu
// RUN: FileCheck %s --check-prefix=VISIT --input-file=%t/out/Visit/asta32/in.cu
// RUN: %compile-both %t/out/Patient/soa/in.cu %t/out/Patient/asta32/in.cu %t/out/Patient/aos-align16/in.cu %t/out/Patient/grouped/in.cu
// RUN: %compile-both %t/out/Visit/soa/in.cu %t/out/Visit/asta32/in.cu %t/out/Trial/soa/in.cu %t/out/Trial/aos-align16/in.cu
// RUN: %compile-both %t/out/Key/soa/in.cu %t/out/Key/asta32/in.cu %t/out/Slot/soa/in.cu %t/out/Slot/asta32/in.cu
// RUN: cp %t/in.cu %t/all.cu && %restride -i --layout=soa --quiet %t/all.cu -- -std=c++17
// RUN: %compile-both %t/all.cu
// RUN: %restride --check --layout=soa --quiet %t/all.cu -- -std=c++17
// RUN: %restride --list %t/all.cu -- -std=c++17 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN-COUNT-5: can be laid out anew
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>
struct Patient { float age; short code; unsigned char sex, flags; int visits; float score; };
// PATIENT: // Frees what was owned by DevPtr<Patient>
// PATIENT-NEXT: struct PatientSoA_delete {
// PATIENT-NEXT: struct pointer : PatientSoA {
// PATIENT: void operator()(PatientSoA p) const { cudaFree((void *)p.age); }
// PATIENT: using PatientSoA_ptr = std::unique_ptr<Patient, PatientSoA_delete>;
// TILE: struct PatientTile32_delete {
// TILE-NEXT: void operator()(PatientTile32 *p) const { cudaFree(p); }
// TILE: using PatientTile32_ptr = std::unique_ptr<PatientTile32, PatientTile32_delete>;
struct Visit { int who; float value; short lab; };
struct Trial { int first, count; float limit; };
struct Key { float key; int who; };
struct Slot { float a; int b; double c; };
#define GPU(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(e_)); exit(1); } } while (0)
struct CudaFree { void operator()(void* p) const { cudaFree(p); } };
template <class T> using DevPtr = std::unique_ptr<T[], CudaFree>;
template <class T> struct Freed { void operator()(T *p) const { if (p) cudaFree(p); } };

template <class T> DevPtr<T> makeDev(size_t n, const T* src = nullptr)
{
    T* p = nullptr;
    GPU(cudaMalloc(&p, n * sizeof(T)));
    if (src) GPU(cudaMemcpy(p, src, n * sizeof(T), cudaMemcpyHostToDevice));
    return DevPtr<T>(p);
}
// PATIENT: inline PatientSoA_ptr makeDev(size_t n, const Patient* src = nullptr)
// PATIENT: PatientSoA p = {};
// PATIENT: return PatientSoA_ptr(p);

static std::unique_ptr<Key, Freed<Key>> makeKeys(int n) {
  Key *raw;
  GPU(cudaMalloc((void **)&raw, n * sizeof(Key)));
  GPU(cudaMemset(raw, 0, n * sizeof(Key)));
  std::unique_ptr<Key, Freed<Key>> out(raw);
  // KEY: static KeySoA_ptr makeKeys(int n) {
  // KEY: KeySoA raw;
  // KEY: KeySoA_ptr out(raw);
  return out;
}

__global__ void apply(Patient *p, const Visit *v, int nv) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= nv) return;
  atomicAdd(&p[v[i].who].visits, 1);
}
__global__ void match(Patient *p, int n, const Trial *t, int nt, Key *k, Slot *s) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float best = 0;
  for (int j = 0; j < nt; ++j) if (p[i].age > t[j].limit) best += t[j].count;
  p[i].score = best + p[i].visits;
  k[i].key = best; k[i].who = i;
  s[i].c += best;
}

class Study {
public:
  Study(int n, const std::vector<Trial> &host) : n_(n), trials_(makeDev(host.size(), host.data())) {
    slots_ = makeDev<Slot>(n);
    GPU(cudaMemset(slots_.get(), 0, n * sizeof(Slot)));
  }
  void run(Patient *p, Key *k, int nt) { match<<<(n_ + 255) / 256, 256>>>(p, n_, trials_.get(), nt, k, slots_.get()); }
  const DevPtr<Slot> &slots() const { return slots_; }
  // SLOT: slots_ = Slot_makeDev(n);
  // SLOT: GPU(SlotSoA_memset(slots_.get(), 0, n * sizeof(Slot)));
  // SLOT: const SlotSoA_ptr &slots() const { return slots_; }
private:
  int n_;
  DevPtr<Trial> trials_;
  DevPtr<Slot> slots_;
  // SLOT: DevPtr<Trial> trials_;
  // SLOT: SlotSoA_ptr slots_;
};

static void download(const DevPtr<Patient> &from, std::vector<Patient> &to) {
  // PATIENT: static void download(const PatientSoA_ptr &from, std::vector<Patient> &to) {
  // PATIENT: GPU(PatientSoA_memcpy(to.data(), from.get(), to.size() * sizeof(Patient), cudaMemcpyDeviceToHost));
  GPU(cudaMemcpy(to.data(), from.get(), to.size() * sizeof(Patient), cudaMemcpyDeviceToHost));
}

int main() {
  const int n = 20000, nv = 50000, nt = 12;
  std::vector<Patient> patients(n);
  for (int i = 0; i < n; ++i) patients[i] = {float(i % 90), short(i % 7), 1, 0, 0, 0};
  std::vector<Visit> visits(nv);
  for (int i = 0; i < nv; ++i) visits[i] = {int((i * 7919ll) % n), 1.0f, short(i % 3)};
  std::vector<Trial> trials(nt);
  for (int i = 0; i < nt; ++i) trials[i] = {0, i, 7.0f * i};
  auto dPat = makeDev(patients.size(), patients.data());
  DevPtr<Visit> dVis = makeDev(visits.size(), visits.data());
  // VISIT: VisitTile32_ptr dVis = makeDev(visits.size(), visits.data());
  auto dInt = makeDev<int>(n);
  Study study(n, trials);
  auto keys = makeKeys(n);
  if (!keys || dVis == nullptr) return 1;
  apply<<<(nv + 255) / 256, 256>>>(dPat.get(), dVis.get(), nv);
  study.run(dPat.get(), keys.get(), nt);
  dVis.reset();
  DevPtr<Visit> other = std::move(dVis);
  // VISIT: VisitTile32_ptr other = std::move(dVis);
  download(dPat, patients);
  std::vector<Key> hk(n);
  GPU(cudaMemcpy(hk.data(), keys.get(), n * sizeof(Key), cudaMemcpyDeviceToHost));
  double sum = 0;
  for (auto &p : patients) sum += p.score + p.visits;
  for (auto &k : hk) sum += k.key;
  printf("check %.10g\n", sum);
}
