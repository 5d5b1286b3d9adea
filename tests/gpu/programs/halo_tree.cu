/* halo_tree.cu - post-processing of a halo merger forest.
 * Halos are stored snapshot by snapshot; progenitor links form linked lists. */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

#define SAFE(call) do { cudaError_t _e = (call); if (_e) { \
    fprintf(stderr, "CUDA failure '%s' at %s:%d\n", cudaGetErrorString(_e), __FILE__, __LINE__); exit(1); } } while (0)

static const int N_SNAP = 48;
static const int MAX_HALOS = 2600000;
static const int N_QUERY = 1500000;
static const int REPEAT = 12;
#define NBINS 128

struct Kinematics { float3 pos, vel; };

struct Halo {
    long long id;
    Kinematics kin;
    float mass;
    float vmax;
    float spin[3];
    int snap;
    int desc;             /* descendant halo or -1         */
    int first_link;       /* head of the progenitor list   */
    int main_prog;
    short n_prog;
    short flags;
    float growth;         /* d ln M / d snap               */
};

struct ProgLink {
    int prog;
    int next;
    float ratio;          /* progenitor / descendant mass  */
    short snap;
    char is_main;
};

struct Root {             /* one per z=0 halo */
    int halo;
    int branch_len;
    int form_snap;
    int last_major;
    int leaf;
    int tree_size;
    unsigned long long tree_mass;   /* fixed point */
    float peak_vmax;
    float path;           /* comoving distance travelled by the main branch */
};

struct IdEntry { long long id; int halo; short snap; short pad; };

struct Query { long long id; int found; float mass; float root_mass; int hops; };

struct Cosmology { float a[N_SNAP]; float box; float major; };
__constant__ Cosmology cosmo;

__device__ float periodic(float d)
{
    float h = 0.5f * cosmo.box;
    return d > h ? d - cosmo.box : (d < -h ? d + cosmo.box : d);
}

__device__ float separation(const Kinematics &a, const Kinematics &b)
{
    float dx = periodic(a.pos.x - b.pos.x), dy = periodic(a.pos.y - b.pos.y), dz = periodic(a.pos.z - b.pos.z);
    return sqrtf(dx * dx + dy * dy + dz * dz);
}

/* walk each progenitor list, pick the most massive one (ties: lower index) */
__global__ void pick_main_progenitor(Halo *halos, ProgLink *links, int n)
{
    int h = blockIdx.x * blockDim.x + threadIdx.x;
    if (h >= n) return;
    float m = halos[h].mass;
    int best = -1, best_link = -1, cnt = 0;
    float best_mass = -1.0f;
    for (int l = halos[h].first_link; l >= 0; l = links[l].next) {
        int p = links[l].prog;
        float pm = halos[p].mass;
        links[l].ratio = pm / m;
        links[l].is_main = 0;
        if (pm > best_mass || (pm == best_mass && p < best)) { best_mass = pm; best = p; best_link = l; }
        ++cnt;
    }
    if (best_link >= 0) links[best_link].is_main = 1;
    halos[h].main_prog = best;
    halos[h].n_prog = (short)cnt;
}

__global__ void growth_rates(Halo *__restrict__ halos, int n)
{
    int h = blockIdx.x * blockDim.x + threadIdx.x;
    if (h >= n) return;
    int d = halos[h].desc, p = halos[h].main_prog;
    float lm = logf(halos[h].mass);
    float up = d >= 0 ? logf(halos[d].mass) : lm;
    float dn = p >= 0 ? logf(halos[p].mass) : lm;
    int span = (d >= 0) + (p >= 0);
    halos[h].growth = span ? (up - dn) / span : 0.0f;
}

__global__ void walk_main_branch(const Halo *halos, const ProgLink *links, Root *roots, int n)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= n) return;
    Root out = roots[r];
    int h = out.halo;
    float half = 0.5f * halos[h].mass, peak = 0.0f, path = 0.0f;
    out.branch_len = 0; out.form_snap = -1; out.last_major = -1;
    while (true) {
        const Halo &x = halos[h];
        peak = fmaxf(peak, x.vmax);
        ++out.branch_len;
        if (x.mass >= half) out.form_snap = x.snap;
        if (out.last_major < 0 && x.n_prog > 1)
            for (int l = x.first_link; l >= 0; l = links[l].next)
                if (!links[l].is_main && links[l].ratio > cosmo.major) { out.last_major = x.snap; break; }
        out.leaf = h;
        int p = x.main_prog;
        if (p < 0) break;
        path += separation(x.kin, halos[p].kin) * cosmo.a[x.snap];
        h = p;
    }
    out.peak_vmax = peak;
    out.path = path;
    out.tree_size = 0;
    out.tree_mass = 0;
    roots[r] = out;
}

/* every halo climbs to its root; roots occupy the first slots of the array */
__global__ void accumulate_trees(const Halo *halos, Root *roots, int n)
{
    int h = blockIdx.x * blockDim.x + threadIdx.x;
    if (h >= n) return;
    int c = h, d;
    while ((d = halos[c].desc) >= 0) c = d;
    atomicAdd(&roots[c].tree_size, 1);
    if (halos[h].first_link < 0)            /* leaves carry the accreted mass */
        atomicAdd(&roots[c].tree_mass, (unsigned long long)(halos[h].mass * 16.0f));
}

__global__ void drift(Halo *halos, int n, float dt)
{
    for (int h = blockIdx.x * blockDim.x + threadIdx.x; h < n; h += gridDim.x * blockDim.x) {
        float3 p = halos[h].kin.pos, v = halos[h].kin.vel;
        float k = dt / cosmo.a[halos[h].snap], box = cosmo.box;
        p.x = fmodf(p.x + v.x * k + box, box);
        p.y = fmodf(p.y + v.y * k + box, box);
        p.z = fmodf(p.z + v.z * k + box, box);
        halos[h].kin.pos = p;
    }
}

__global__ void resolve_queries(Query *q, const IdEntry *table, const Halo *halos, int nq, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nq) return;
    long long id = q[i].id;
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = (lo + hi) >> 1;
        if (table[mid].id < id) lo = mid + 1; else hi = mid;
    }
    int found = -1, hops = 0;
    float m = 0.0f, rm = 0.0f;
    if (lo < n && table[lo].id == id) {
        found = table[lo].halo;
        m = halos[found].mass;
        int c = found;
        while (halos[c].desc >= 0 && hops < 8) { c = halos[c].desc; ++hops; }
        rm = halos[c].mass;
    }
    q[i].found = found; q[i].mass = m; q[i].root_mass = rm; q[i].hops = hops;
}

__global__ void mass_function(const Halo *halos, int *bins, int n)
{
    __shared__ int s[NBINS];
    if (threadIdx.x < NBINS) s[threadIdx.x] = 0;
    __syncthreads();
    for (int h = blockIdx.x * blockDim.x + threadIdx.x; h < n; h += gridDim.x * blockDim.x) {
        const float *sp = halos[h].spin;
        float lam = sqrtf(sp[0] * sp[0] + sp[1] * sp[1] + sp[2] * sp[2]);
        int b = min(15, (int)(2.0f * log2f(halos[h].mass))) * 8 + min(7, (int)(lam * 60.0f));
        atomicAdd(&s[b], 1);
    }
    __syncthreads();
    if (threadIdx.x < NBINS) atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}

static unsigned long long rs = 0xC0FFEEULL;
static float rnd(void)
{
    rs = rs * 6364136223846793005ULL + 1442695040888963407ULL;
    return (float)(rs >> 40) / 16777216.0f;
}

static void finish_halo(Halo &h, float mass, int snap, int desc, float box)
{
    h.mass = mass; h.snap = snap; h.desc = desc; h.first_link = -1; h.main_prog = -1;
    h.vmax = 80.0f * powf(mass, 0.31f) * (0.9f + 0.2f * rnd());
    for (int k = 0; k < 3; ++k) h.spin[k] = 0.1f * (rnd() - 0.5f) + 0.02f * rnd();
    h.kin.vel = make_float3(rnd() - 0.5f, rnd() - 0.5f, rnd() - 0.5f);
    h.flags = (short)(rnd() * 4); h.n_prog = 0; h.growth = 0.0f;
    h.kin.pos.x = fmodf(h.kin.pos.x + box, box); h.kin.pos.y = fmodf(h.kin.pos.y + box, box); h.kin.pos.z = fmodf(h.kin.pos.z + box, box);
}

int main()
{
    Cosmology hc;
    hc.box = 250.0f; hc.major = 0.25f;
    for (int s = 0; s < N_SNAP; ++s) hc.a[s] = 0.1f + 0.9f * s / (N_SNAP - 1);
    SAFE(cudaMemcpyToSymbol(cosmo, &hc, sizeof hc));

    std::vector<Halo> halos; halos.reserve(MAX_HALOS);
    std::vector<ProgLink> links;
    const int n_root = 90000;
    for (int i = 0; i < n_root; ++i) {                /* power-law mass function */
        Halo h; float u = rnd();
        h.kin.pos = make_float3(hc.box * rnd(), hc.box * rnd(), hc.box * rnd());
        finish_halo(h, std::min(2000.0f, 1.0f / powf(u + 1e-6f, 0.9f)), N_SNAP - 1, -1, hc.box);
        halos.push_back(h);
    }
    int begin = 0, end = n_root;
    for (int snap = N_SNAP - 2; snap >= 0; --snap) {  /* backwards in time */
        std::vector<int> order(end - begin);
        for (int i = 0; i < end - begin; ++i) order[i] = begin + i;
        for (int i = end - begin - 1; i > 0; --i)     /* halo finders write in arbitrary order */
            if (rnd() < 0.3f) std::swap(order[i], order[(int)(rnd() * i)]);
        for (int d : order) {
            float m = halos[d].mass, main_m = m * (0.90f + 0.1f * rnd());
            float f = rnd();
            float parts[3] = { main_m, m > 3.0f && f < 0.25f ? m * 0.5f * rnd() * rnd() : 0.0f, m > 20.0f && f < 0.1f ? m * 0.1f * rnd() : 0.0f };
            for (int k = 0; k < 3; ++k) {
                if (parts[k] < 1.0f || (int)halos.size() >= MAX_HALOS) continue;
                Halo p;
                p.kin.pos = halos[d].kin.pos;
                p.kin.pos.x += 0.4f * (rnd() - 0.5f); p.kin.pos.y += 0.4f * (rnd() - 0.5f); p.kin.pos.z += 0.4f * (rnd() - 0.5f);
                finish_halo(p, parts[k], snap, d, hc.box);
                ProgLink l = { (int)halos.size(), halos[d].first_link, 0.0f, (short)snap, 0 };
                halos[d].first_link = (int)links.size();
                links.push_back(l);
                halos.push_back(p);
            }
        }
        begin = end; end = (int)halos.size();
    }
    const int n = (int)halos.size();
    std::vector<IdEntry> ids(n);
    for (int i = 0; i < n; ++i) {
        halos[i].id = (long long)((i * 0x9E3779B97F4A7C15ULL) >> 1);
        IdEntry e = { halos[i].id, i, (short)halos[i].snap, 0 };
        ids[i] = e;
    }
    std::sort(ids.begin(), ids.end(), [](const IdEntry &a, const IdEntry &b) { return a.id < b.id; });
    std::vector<Query> qs(N_QUERY);
    for (int i = 0; i < N_QUERY; ++i) {
        float u = rnd();
        qs[i] = Query{ halos[std::min(n - 1, (int)(u * u * n))].id + (rnd() < 0.1f ? 1 : 0), -1, 0.0f, 0.0f, 0 };
    }
    std::vector<Root> roots(n_root);
    for (int i = 0; i < n_root; ++i) { roots[i] = Root(); roots[i].halo = i; }

    Halo *d_h; ProgLink *d_l; Root *d_r; IdEntry *d_i; Query *d_q; int *d_bins;
    SAFE(cudaMalloc(&d_h, n * sizeof(Halo)));
    SAFE(cudaMalloc(&d_l, links.size() * sizeof(ProgLink)));
    SAFE(cudaMalloc(&d_r, n_root * sizeof(Root)));
    SAFE(cudaMalloc(&d_i, n * sizeof(IdEntry)));
    SAFE(cudaMalloc(&d_q, N_QUERY * sizeof(Query)));
    SAFE(cudaMalloc(&d_bins, NBINS * sizeof(int)));
    SAFE(cudaMemcpy(d_h, halos.data(), n * sizeof(Halo), cudaMemcpyHostToDevice));
    SAFE(cudaMemcpy(d_l, links.data(), links.size() * sizeof(ProgLink), cudaMemcpyHostToDevice));
    SAFE(cudaMemcpy(d_r, roots.data(), n_root * sizeof(Root), cudaMemcpyHostToDevice));
    SAFE(cudaMemcpy(d_i, ids.data(), n * sizeof(IdEntry), cudaMemcpyHostToDevice));
    SAFE(cudaMemcpy(d_q, qs.data(), N_QUERY * sizeof(Query), cudaMemcpyHostToDevice));
    SAFE(cudaMemset(d_bins, 0, NBINS * sizeof(int)));

    cudaEvent_t a, b; float ms;
    SAFE(cudaEventCreate(&a)); SAFE(cudaEventCreate(&b));
    int gn = (n + 255) / 256;
    SAFE(cudaEventRecord(a));
    for (int it = 0; it < REPEAT; ++it) {
        pick_main_progenitor<<<gn, 256>>>(d_h, d_l, n);
        growth_rates<<<gn, 256>>>(d_h, n);
        walk_main_branch<<<(n_root + 127) / 128, 128>>>(d_h, d_l, d_r, n_root);
        accumulate_trees<<<gn, 256>>>(d_h, d_r, n);
        resolve_queries<<<(N_QUERY + 255) / 256, 256>>>(d_q, d_i, d_h, N_QUERY, n);
        mass_function<<<1024, 256>>>(d_h, d_bins, n);
        drift<<<1024, 256>>>(d_h, n, 0.05f);
    }
    SAFE(cudaEventRecord(b)); SAFE(cudaEventSynchronize(b)); SAFE(cudaGetLastError());
    SAFE(cudaEventElapsedTime(&ms, a, b));

    int bins[NBINS];
    SAFE(cudaMemcpy(halos.data(), d_h, n * sizeof(Halo), cudaMemcpyDeviceToHost));
    SAFE(cudaMemcpy(links.data(), d_l, links.size() * sizeof(ProgLink), cudaMemcpyDeviceToHost));
    SAFE(cudaMemcpy(roots.data(), d_r, n_root * sizeof(Root), cudaMemcpyDeviceToHost));
    SAFE(cudaMemcpy(qs.data(), d_q, N_QUERY * sizeof(Query), cudaMemcpyDeviceToHost));
    SAFE(cudaMemcpy(bins, d_bins, sizeof bins, cudaMemcpyDeviceToHost));
    double gr = 0, pos = 0, ratio = 0, path = 0, peak = 0, qm = 0, tm = 0;
    long long mains = 0, hm = 0, rh = 0, ts = 0, qh = 0, bh = 0;
    for (int i = 0; i < n; ++i) { gr += halos[i].growth; pos += halos[i].kin.pos.x + halos[i].kin.pos.y + halos[i].kin.pos.z; hm += (halos[i].main_prog + 1) % 4093 * (halos[i].n_prog + 1); }
    for (size_t l = 0; l < links.size(); ++l) { ratio += links[l].ratio; mains += links[l].is_main; }
    for (const Root &r : roots) { path += r.path; peak += r.peak_vmax; rh += r.branch_len + 3 * r.form_snap + 5 * r.last_major + r.leaf % 997; ts += (long long)r.tree_size * (r.halo % 11 + 1); tm += r.tree_mass / 16.0; }
    for (const Query &q : qs) { qm += q.mass + q.root_mass; qh += (q.found + 1) % 2039 + q.hops; }
    for (int k = 0; k < NBINS; ++k) bh += (long long)bins[k] * (k + 1);
    printf("check growth %.4e\ncheck positions %.4e\ncheck ratio %.4e\ncheck main_links %lld\ncheck main_hash %lld\n", gr, pos, ratio, mains, hm);
    printf("check path %.4e\ncheck peak_vmax %.4e\ncheck root_hash %lld\ncheck tree_size %lld\ncheck tree_mass %.5e\n", path, peak, rh, ts, tm);
    printf("check query_mass %.5e\ncheck query_hash %lld\ncheck mass_bins %lld\ntime_ms %.4f\n", qm, qh, bh, ms);
    SAFE(cudaFree(d_h)); SAFE(cudaFree(d_l)); SAFE(cudaFree(d_r)); SAFE(cudaFree(d_i)); SAFE(cudaFree(d_q)); SAFE(cudaFree(d_bins));
    return 0;
}
