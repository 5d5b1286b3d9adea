// rail_ticketing.cu
// Batch booking engine: every batch of requests is grouped by train (counting
// sort), ordered by priority inside a train and booked against the inventory
// of the route sections; afterwards the fares follow the load of the sections.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CU(x) do { cudaError_t r_ = (x); if (r_ != cudaSuccess) { \
    std::fprintf(stderr, "CUDA error %d at %s:%d\n", (int)r_, __FILE__, __LINE__); std::exit(1); } } while (0)

namespace rail {

constexpr int kClasses = 3, kMaxSections = 16;

enum class Result : unsigned char { Pending, Booked, NoSeats, TooExpensive, Invalid };

struct Train {
    int   number;
    int   firstSection;
    short sections;
    short category;             // 0 regional, 1 intercity, 2 high speed
    float baseFare;             // per km
    int   reqFirst, reqCount;   // slice of the grouped request list
    unsigned long long revenue; // cents
    int   boarded;
    int   refused;
};

struct Inventory {              // one seat class on one section
    short capacity;
    short sold;
    short blocked;
    short waitlist;
    float factor;               // price multiplier
};

struct Section {
    float     km;
    short     stopA, stopB;
    Inventory cls[kClasses];
    float     load;
    int       closedBatches;
};

struct Request {
    int           id;
    int           train;
    short         from, to;     // section range [from, to)
    unsigned char cls;
    unsigned char seats;
    unsigned char loyalty;
    Result        result;
    float         budget;
    int           priority;     // smaller goes first
    int           paidCents;
    float         quoted;
};

__host__ __device__ inline unsigned hash(unsigned a)
{
    a = (a + 0x7ed55d16u) + (a << 12); a = (a ^ 0xc761c23cu) ^ (a >> 19);
    a = (a + 0x165667b1u) + (a << 5);  a = (a + 0xd3a2646cu) ^ (a << 9);
    a = (a + 0xfd7046c5u) + (a << 3);  return (a ^ 0xb55a4f09u) ^ (a >> 16);
}

// Turns the request records into the wishes of this batch and counts them.
__global__ void openBatch(Request *req, int n, Train *trains, int nTrains, int batch)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Request &r = req[i];
    unsigned h = hash(i * 2654435761u + batch * 40503u);
    unsigned pick = (h >> 8) % 100u < 40u ? hash(h) % (unsigned)(nTrains / 8 + 1) : hash(h) % (unsigned)nTrains;
    r.train = (int)pick;
    r.result = Result::Pending;
    r.paidCents = 0;
    int len = trains[pick].sections;
    r.from = (short)((h >> 3) % (unsigned)len);
    r.to = (short)(r.from + 1 + (h >> 11) % (unsigned)(len - r.from));
    r.cls = (unsigned char)((h >> 20) % 10 < 6 ? 2 : (h >> 20) % 10 < 9 ? 1 : 0);
    r.seats = (unsigned char)(1 + (h >> 25) % 4);
    r.priority = (int)(h & 0xffff) - 3000 * r.loyalty;
    atomicAdd(&trains[pick].reqCount, 1);
}

// Exclusive scan of reqCount over all trains by one block.
__global__ void layoutSlices(Train *trains, int n)
{
    __shared__ int part[1024];
    const int per = (n + blockDim.x - 1) / blockDim.x;
    const int lo = min(n, (int)threadIdx.x * per), hi = min(n, lo + per);
    int sum = 0;
    for (int k = lo; k < hi; ++k) sum += trains[k].reqCount;
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int o = 1; o < (int)blockDim.x; o <<= 1) {
        int v = (int)threadIdx.x >= o ? part[threadIdx.x - o] : 0;
        __syncthreads();
        part[threadIdx.x] += v;
        __syncthreads();
    }
    int run = part[threadIdx.x] - sum;
    for (int k = lo; k < hi; ++k) {
        trains[k].reqFirst = run;
        run += trains[k].reqCount;
        trains[k].reqCount = 0;            // counts again while scattering
    }
}

__global__ void scatter(const Request *req, int n, Train *trains, int *order)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Train *t = trains + req[i].train;
    order[t->reqFirst + atomicAdd(&t->reqCount, 1)] = i;
}

// One warp per train: ranks the requests of the slice by (priority, index).
__global__ void rankSlices(const Train *trains, int nTrains, const Request *req, const int *order, int *sorted)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (warp >= nTrains) return;
    const int first = trains[warp].reqFirst, cnt = trains[warp].reqCount;
    for (int a = lane; a < cnt; a += 32) {
        int ia = order[first + a], pa = req[ia].priority, rank = 0;
        for (int b = 0; b < cnt; ++b) {
            int ib = order[first + b], pb = req[ib].priority;
            rank += pb < pa || (pb == pa && ib < ia);
        }
        sorted[first + rank] = ia;
    }
}

__device__ float quote(const Section *sec, const Request &r, const Train &t)
{
    float sum = 0.0f;
    for (int s = r.from; s < r.to; ++s) sum += sec[s].km * sec[s].cls[r.cls].factor;
    float perKm = t.baseFare * (r.cls == 0 ? 2.4f : r.cls == 1 ? 1.5f : 1.0f);
    return (3.0f + perKm * sum) * r.seats * (1.0f - 0.05f * r.loyalty);
}

__global__ void book(Train *trains, int nTrains, Section *sections, Request *req, const int *sorted)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nTrains) return;
    Train t = trains[i];
    Section *sec = sections + t.firstSection;
    for (int k = 0; k < t.reqCount; ++k) {
        Request &r = req[sorted[t.reqFirst + k]];
        if (r.to > t.sections || r.from >= r.to) { r.result = Result::Invalid; continue; }
        bool room = true;
        for (int s = r.from; s < r.to && room; ++s) {
            const Inventory &v = sec[s].cls[r.cls];
            room = v.sold + v.blocked + r.seats <= v.capacity;
        }
        if (!room) {
            r.result = Result::NoSeats;
            sec[r.from].cls[r.cls].waitlist++;
            t.refused++;
            continue;
        }
        float price = quote(sec, r, t);
        r.quoted = price;
        if (price > r.budget * r.seats) { r.result = Result::TooExpensive; continue; }
        for (int s = r.from; s < r.to; ++s) sec[s].cls[r.cls].sold += r.seats;
        r.result = Result::Booked;
        r.paidCents = (int)(price * 100.0f);
        t.revenue += r.paidCents;
        t.boarded += r.seats;
    }
    t.reqCount = 0;
    trains[i] = t;
}

__global__ void adjustFares(Section *sections, int n, int batch)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Section *s = &sections[i];
    int sold = 0, cap = 0;
    for (int c = 0; c < kClasses; ++c) {
        Inventory &v = s->cls[c];
        float load = (float)v.sold / v.capacity;
        float want = 0.7f + 0.9f * load * load + 0.02f * v.waitlist;
        v.factor = fminf(3.0f, 0.8f * v.factor + 0.2f * want);
        v.waitlist /= 2;
        v.sold -= (short)((v.sold * 3 + batch % 8) / 16);       // departures and refunds
        sold += v.sold;
        cap += v.capacity;
    }
    s->load = (float)sold / cap;
    if (s->load > 0.9f) s->closedBatches++;
}

}  // namespace rail

int main(int argc, char **argv)
{
    using namespace rail;
    const int nReq = argc > 1 ? std::atoi(argv[1]) : 800000;
    const int nTrains = nReq / 40 + 8, batches = 30;

    std::vector<Train> trains(nTrains);
    std::vector<Section> sections;
    for (int i = 0; i < nTrains; ++i) {
        unsigned h = hash(i + 1);
        Train &t = trains[i];
        t = Train{};
        t.number = 100 + i;
        t.firstSection = (int)sections.size();
        t.sections = (short)(4 + h % (kMaxSections - 3));
        t.category = (short)((h >> 8) % 3);
        t.baseFare = 0.09f + 0.04f * t.category;
        for (int s = 0; s < t.sections; ++s) {
            Section x{};
            unsigned g = hash(h + s);
            x.km = 12.0f + g % 90;
            x.stopA = (short)((h + s) % 900); x.stopB = (short)((h + s + 1) % 900);
            for (int c = 0; c < kClasses; ++c) {
                x.cls[c].capacity = (short)(c == 0 ? 12 : c == 1 ? 30 : 70 + g % 40);
                x.cls[c].blocked = (short)((g >> 8) % 4);
                x.cls[c].factor = 1.0f;
            }
            sections.push_back(x);
        }
    }
    std::vector<Request> req(nReq);
    for (int i = 0; i < nReq; ++i) {
        unsigned h = hash(i + 700001);
        req[i] = Request{};
        req[i].id = i;
        req[i].loyalty = (unsigned char)(h % 16 == 0 ? 3 : h % 5 == 0 ? 1 : 0);
        req[i].budget = 15.0f + (h >> 12) % 100;
    }
    const int nSec = (int)sections.size();

    Train *dT; Section *dS; Request *dR; int *dOrder, *dSorted;
    CU(cudaMalloc(&dT, nTrains * sizeof(Train)));
    CU(cudaMalloc(&dS, nSec * sizeof(Section)));
    CU(cudaMalloc(&dR, nReq * sizeof(Request)));
    CU(cudaMalloc(&dOrder, nReq * sizeof(int)));
    CU(cudaMalloc(&dSorted, nReq * sizeof(int)));
    CU(cudaMemcpy(dT, trains.data(), nTrains * sizeof(Train), cudaMemcpyHostToDevice));
    CU(cudaMemcpy(dS, sections.data(), nSec * sizeof(Section), cudaMemcpyHostToDevice));
    CU(cudaMemcpy(dR, req.data(), nReq * sizeof(Request), cudaMemcpyHostToDevice));

    cudaStream_t st;
    cudaEvent_t a, b;
    CU(cudaStreamCreate(&st));
    CU(cudaEventCreate(&a)); CU(cudaEventCreate(&b));
    const int gr = (nReq + 255) / 256;
    for (int k = 0; k <= batches; ++k) {
        if (k == 1) CU(cudaEventRecord(a, st));
        openBatch<<<gr, 256, 0, st>>>(dR, nReq, dT, nTrains, k);
        layoutSlices<<<1, 1024, 0, st>>>(dT, nTrains);
        scatter<<<gr, 256, 0, st>>>(dR, nReq, dT, dOrder);
        rankSlices<<<(nTrains + 7) / 8, 256, 0, st>>>(dT, nTrains, dR, dOrder, dSorted);
        book<<<(nTrains + 63) / 64, 64, 0, st>>>(dT, nTrains, dS, dR, dSorted);
        adjustFares<<<(nSec + 127) / 128, 128, 0, st>>>(dS, nSec, k);
    }
    CU(cudaEventRecord(b, st));
    CU(cudaGetLastError());
    CU(cudaStreamSynchronize(st));
    float ms = 0.0f;
    CU(cudaEventElapsedTime(&ms, a, b));

    CU(cudaMemcpy(trains.data(), dT, nTrains * sizeof(Train), cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(sections.data(), dS, nSec * sizeof(Section), cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(req.data(), dR, nReq * sizeof(Request), cudaMemcpyDeviceToHost));
    long long boarded = 0, refused = 0, sold = 0, closed = 0, res[5] = {0, 0, 0, 0, 0};
    double revenue = 0, factor = 0, quoted = 0;
    for (const auto &t : trains) { boarded += t.boarded; refused += t.refused; revenue += (double)t.revenue; }
    for (const auto &s : sections)
        for (int c = 0; c < kClasses; ++c) { sold += s.cls[c].sold; factor += s.cls[c].factor; }
    for (const auto &s : sections) closed += s.closedBatches;
    for (const auto &r : req) { res[(int)r.result]++; quoted += r.quoted; }
    std::printf("check %lld/%lld/%lld/%lld/%lld/%lld/%.5g/%.5g/%.5g\n", boarded, refused, sold, closed, res[1], res[2],
                revenue, factor, quoted);
    std::printf("time_ms %.4f\n", ms / batches);
    CU(cudaFree(dT)); CU(cudaFree(dS)); CU(cudaFree(dR)); CU(cudaFree(dOrder)); CU(cudaFree(dSorted));
    CU(cudaStreamDestroy(st));
    return 0;
}
