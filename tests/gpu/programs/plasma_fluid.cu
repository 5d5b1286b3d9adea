// 2D ideal MHD, finite volumes, second order (minmod on primitive variables),
// local Lax-Friedrichs fluxes, mixed GLM cleaning of div B, periodic box.
// Orszag-Tang initial state plus passive tracers.
// usage: plasma_fluid [cells per side]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
namespace mhd {

constexpr double GAMMA = 5.0 / 3.0;
constexpr double CFL = 0.3;
constexpr int    BX = 32, BY = 4;

struct Prim {
    double rho, u, v, w, p;
    double bx, by, bz, psi;
};

struct Cons {
    double rho, mx, my, mz, e;
    double bx, by, bz, psi;
};

struct Flux { double f[9]; };

struct Material {
    float  cooling, drag;  // rates
    int    zone;
    unsigned char kind;    // 0 plasma, 1 dense, 2 sponge
    unsigned char hits;    // floor was applied
};

struct Tracer {
    double x, y;           // 0..1
    float3 b;              // field at the tracer
    float  rho, work;
    int    crossings;      // of the periodic boundary
    unsigned char born;
};

struct Clock {
    unsigned long long maxSpeed;   // bits of a positive double
    double dt, t;
    double ch;             // cleaning speed
    int    step;
};

// device pointers of the whole problem
struct Fields {
    Cons     *cons;
    Prim     *prim;
    Flux     *fx, *fy;
    Material *mat;
    Clock    *clock;
    int       n;
};

__device__ __forceinline__ int wrap(int i, int n) { return i < 0 ? i + n : (i >= n ? i - n : i); }

__device__ __forceinline__ double fast(double rho, double p, double bn, double b2)
{
    double a2 = GAMMA * p / rho, va2 = b2 / rho;
    double s = a2 + va2;
    double d = sqrt(fmax(s * s - 4.0 * a2 * bn * bn / rho, 0.0));
    return sqrt(0.5 * (s + d));
}

__device__ __forceinline__ double minmod(double a, double b)
{
    return a * b <= 0.0 ? 0.0 : (fabs(a) < fabs(b) ? a : b);
}

__global__ void toPrimitive(Fields g)
{
    __shared__ double block[BX * BY];
    const int i = blockIdx.x * BX + threadIdx.x, j = blockIdx.y * BY + threadIdx.y;
    const int tid = threadIdx.y * BX + threadIdx.x;
    double speed = 0.0;

    if (i < g.n && j < g.n) {
        const int id = j * g.n + i;
        const Cons c = g.cons[id];
        Prim q;
        q.rho = fmax(c.rho, 1e-3);
        const double inv = 1.0 / q.rho;
        q.u = c.mx * inv; q.v = c.my * inv; q.w = c.mz * inv;
        q.bx = c.bx; q.by = c.by; q.bz = c.bz;
        q.psi = c.psi;
        const double b2 = c.bx * c.bx + c.by * c.by + c.bz * c.bz;
        q.p = (GAMMA - 1.0) * (c.e - 0.5 * q.rho * (q.u * q.u + q.v * q.v + q.w * q.w) - 0.5 * b2);
        if (q.p < 1e-4) {
            q.p = 1e-4;
            if (g.mat[id].hits < 255) g.mat[id].hits++;
        }
        g.prim[id] = q;
        speed = fmax(fabs(q.u) + fast(q.rho, q.p, q.bx, b2), fabs(q.v) + fast(q.rho, q.p, q.by, b2));
    }
    block[tid] = speed;
    __syncthreads();
    for (int s = BX * BY / 2; s > 0; s >>= 1) {
        if (tid < s) block[tid] = fmax(block[tid], block[tid + s]);
        __syncthreads();
    }
    if (tid == 0)
        atomicMax(&g.clock->maxSpeed, (unsigned long long)__double_as_longlong(block[0]));
}

__global__ void setTimeStep(Clock *c, double dx)
{
    double v = __longlong_as_double((long long)c->maxSpeed);
    c->ch = v;
    c->dt = CFL * dx / v;
    c->t += c->dt; c->step++;
    c->maxSpeed = 0;
}

// normal direction first; un, bn are the normal components
struct State {
    double rho, un, ut, w, p, bn, bt, bz, psi;
};

template <int DIR>
__device__ __forceinline__ State load(const Prim *__restrict__ prim, int id)
{
    State s;
    s.rho = prim[id].rho;
    s.p = prim[id].p;
    s.w = prim[id].w;
    s.bz = prim[id].bz;
    s.psi = prim[id].psi;
    if (DIR == 0) {
        s.un = prim[id].u;  s.ut = prim[id].v;
        s.bn = prim[id].bx; s.bt = prim[id].by;
    } else {
        s.un = prim[id].v;  s.ut = prim[id].u;
        s.bn = prim[id].by; s.bt = prim[id].bx;
    }
    return s;
}

// value of b extrapolated by half a (limited) slope, sign +1 / -1
__device__ __forceinline__ State reconstruct(const State &a, const State &b, const State &c, double h)
{
    State r;
    r.rho = b.rho + h * minmod(b.rho - a.rho, c.rho - b.rho);
    r.un = b.un + h * minmod(b.un - a.un, c.un - b.un);
    r.ut = b.ut + h * minmod(b.ut - a.ut, c.ut - b.ut);
    r.w = b.w + h * minmod(b.w - a.w, c.w - b.w);
    r.p = b.p + h * minmod(b.p - a.p, c.p - b.p);
    r.bn = b.bn + h * minmod(b.bn - a.bn, c.bn - b.bn);
    r.bt = b.bt + h * minmod(b.bt - a.bt, c.bt - b.bt);
    r.bz = b.bz + h * minmod(b.bz - a.bz, c.bz - b.bz);
    r.psi = b.psi + h * minmod(b.psi - a.psi, c.psi - b.psi);
    return r;
}

__device__ __forceinline__ void physical(const State &s, double ch, double U[9], double F[9])
{
    const double b2 = s.bn * s.bn + s.bt * s.bt + s.bz * s.bz;
    const double pt = s.p + 0.5 * b2, ub = s.un * s.bn + s.ut * s.bt + s.w * s.bz;
    const double e = s.p / (GAMMA - 1.0) + 0.5 * s.rho * (s.un * s.un + s.ut * s.ut + s.w * s.w) + 0.5 * b2;
    U[0] = s.rho;        F[0] = s.rho * s.un;
    U[1] = s.rho * s.un; F[1] = s.rho * s.un * s.un + pt - s.bn * s.bn;
    U[2] = s.rho * s.ut; F[2] = s.rho * s.un * s.ut - s.bn * s.bt;
    U[3] = s.rho * s.w;  F[3] = s.rho * s.un * s.w - s.bn * s.bz;
    U[4] = e;            F[4] = (e + pt) * s.un - s.bn * ub;
    U[5] = s.bn;         F[5] = s.psi;
    U[6] = s.bt;         F[6] = s.bt * s.un - s.bn * s.ut;
    U[7] = s.bz;         F[7] = s.bz * s.un - s.bn * s.w;
    U[8] = s.psi;        F[8] = ch * ch * s.bn;
}

// flux through the upper face (in direction DIR) of every cell
template <int DIR>
__global__ void __launch_bounds__(BX * BY) faceFlux(Fields g, Flux *__restrict__ out)
{
    const int i = blockIdx.x * BX + threadIdx.x, j = blockIdx.y * BY + threadIdx.y;
    const int n = g.n;
    if (i >= n || j >= n) return;
    int at[4];
    for (int k = 0; k < 4; ++k)
        at[k] = DIR == 0 ? j * n + wrap(i + k - 1, n) : wrap(j + k - 1, n) * n + i;

    const State a = load<DIR>(g.prim, at[0]), b = load<DIR>(g.prim, at[1]);
    const State c = load<DIR>(g.prim, at[2]), d = load<DIR>(g.prim, at[3]);
    const State L = reconstruct(a, b, c, 0.5), R = reconstruct(b, c, d, -0.5);
    const double ch = g.clock->ch;

    double ul[9], fl[9], ur[9], fr[9];
    physical(L, ch, ul, fl);
    physical(R, ch, ur, fr);
    const double bl = L.bn * L.bn + L.bt * L.bt + L.bz * L.bz;
    const double br = R.bn * R.bn + R.bt * R.bt + R.bz * R.bz;
    const double s = fmax(fmax(fabs(L.un) + fast(L.rho, L.p, L.bn, bl),
                               fabs(R.un) + fast(R.rho, R.p, R.bn, br)), ch);
    const int id = at[1];
#pragma unroll
    for (int k = 0; k < 9; ++k) out[id].f[k] = 0.5 * (fl[k] + fr[k]) - 0.5 * s * (ur[k] - ul[k]);
}

__global__ void update(Fields g, double dx)
{
    const int i = blockIdx.x * BX + threadIdx.x, j = blockIdx.y * BY + threadIdx.y;
    const int n = g.n;
    if (i >= n || j >= n) return;
    const int id = j * n + i, west = j * n + wrap(i - 1, n), south = wrap(j - 1, n) * n + i;
    const double dt = g.clock->dt, r = dt / dx;

    double d[9];
#pragma unroll
    for (int k = 0; k < 9; ++k) d[k] = r * (g.fx[id].f[k] - g.fx[west].f[k]);
    const Flux *top = g.fy + id, *bottom = g.fy + south;

    Cons &c = g.cons[id];
    c.rho -= d[0] + r * (top->f[0] - bottom->f[0]);
    c.mx -= d[1] + r * (top->f[2] - bottom->f[2]);
    c.my -= d[2] + r * (top->f[1] - bottom->f[1]);
    c.mz -= d[3] + r * (top->f[3] - bottom->f[3]);
    c.e -= d[4] + r * (top->f[4] - bottom->f[4]);
    c.bx -= d[5] + r * (top->f[6] - bottom->f[6]);
    c.by -= d[6] + r * (top->f[5] - bottom->f[5]);
    c.bz -= d[7] + r * (top->f[7] - bottom->f[7]);
    c.psi = (c.psi - d[8] - r * (top->f[8] - bottom->f[8])) * exp(-0.18 * CFL);

    switch (g.mat[id].kind) {
    case 1:     // optically thin cooling towards p = 0.2
        c.e -= dt * g.mat[id].cooling * fmax(g.prim[id].p - 0.2, 0.0);
        break;
    case 2: {   // drag, the kinetic energy is lost
        double keep = 1.0 - dt * g.mat[id].drag;
        double ke = 0.5 * (c.mx * c.mx + c.my * c.my) / c.rho;
        c.mx *= keep; c.my *= keep;
        c.e -= ke * (1.0 - keep * keep);
        break;
    }
    }
}

__global__ void moveTracers(Tracer *tr, int count, const Prim *__restrict__ prim, const Clock *clock, int n)
{
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < count; k += gridDim.x * blockDim.x) {
        Tracer t = tr[k];
        const double gx = t.x * n - 0.5, gy = t.y * n - 0.5;
        const int i = (int)floor(gx), j = (int)floor(gy);
        const double ax = gx - i, ay = gy - j;
        double u = 0.0, v = 0.0, rho = 0.0, bx = 0.0, by = 0.0, bz = 0.0;
        for (int q = 0; q < 4; ++q) {
            const double wgt = ((q & 1) ? ax : 1.0 - ax) * ((q & 2) ? ay : 1.0 - ay);
            const Prim *p = prim + (wrap(j + (q >> 1), n) * n + wrap(i + (q & 1), n));
            u += wgt * p->u;   v += wgt * p->v;   rho += wgt * p->rho;
            bx += wgt * p->bx; by += wgt * p->by; bz += wgt * p->bz;
        }
        t.x += clock->dt * u; t.y += clock->dt * v;
        if (t.x < 0.0)  { t.x += 1.0; t.crossings++; }
        if (t.x >= 1.0) { t.x -= 1.0; t.crossings++; }
        if (t.y < 0.0)  { t.y += 1.0; t.crossings++; }
        if (t.y >= 1.0) { t.y -= 1.0; t.crossings++; }
        t.b = make_float3((float)bx, (float)by, (float)bz);
        t.work += (float)(clock->dt * (u * bx + v * by));
        t.rho = (float)rho;
        tr[k] = t;
    }
}

} // namespace mhd
using namespace mhd;

#define GPU(x) do { if (cudaError_t e = (x)) { std::fprintf(stderr, "%s line %d: %s\n", #x, __LINE__, cudaGetErrorString(e)); std::exit(1); } } while (0)

int main(int argc, char **argv)
{
    const int n = argc > 1 && std::atoi(argv[1]) >= 8 ? std::atoi(argv[1]) : 1024;
    const int cells = n * n, tracers = cells / 4, warm = 3, steps = 30;
    const double dx = 1.0 / n, PI = 3.14159265358979323846;

    Cons *cons = new Cons[cells];
    Material *mat = new Material[cells];
    Tracer *tr = new Tracer[tracers];
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) {
            const double x = (i + 0.5) * dx, y = (j + 0.5) * dx;
            Cons c;
            c.rho = 25.0 / (36.0 * PI);
            const double u = -sin(2.0 * PI * y), v = sin(2.0 * PI * x), B0 = 1.0 / sqrt(4.0 * PI);
            c.mx = c.rho * u; c.my = c.rho * v; c.mz = 0.1 * c.rho * sin(2.0 * PI * (x + y));
            c.bx = -B0 * sin(2.0 * PI * y); c.by = B0 * sin(4.0 * PI * x); c.bz = 0.05;
            c.psi = 0.0;
            c.e = 5.0 / (12.0 * PI) / (GAMMA - 1.0) + 0.5 * (c.mx * c.mx + c.my * c.my + c.mz * c.mz) / c.rho +
                  0.5 * (c.bx * c.bx + c.by * c.by + c.bz * c.bz);
            cons[j * n + i] = c;
            const unsigned h = ((unsigned)(i / 16) * 40503u + (unsigned)(j / 16) * 9973u) * 2654435761u;
            const int pick = (h >> 24) % 10;
            mat[j * n + i] = Material{0.3f + pick * 0.05f, 0.2f, (int)(h >> 28), (unsigned char)(pick < 6 ? 0 : pick < 9 ? 1 : 2), 0};
        }
    for (int k = 0; k < tracers; ++k) {
        const unsigned a = k * 2654435761u + 17u, b = (a ^ (a >> 15)) * 2246822519u;
        tr[k] = Tracer{(a >> 4) / 268435456.0, (b >> 4) / 268435456.0, make_float3(0, 0, 0), 0.0f, 0.0f, 0, (unsigned char)(k & 255)};
    }

    Fields g{};
    g.n = n;
    Tracer *dTr;
    GPU(cudaMalloc(&g.cons, sizeof(Cons) * cells));
    GPU(cudaMalloc(&g.prim, sizeof(Prim) * cells));
    GPU(cudaMalloc(&g.fx, sizeof(Flux) * cells));
    GPU(cudaMalloc(&g.fy, sizeof(Flux) * cells));
    GPU(cudaMalloc(&g.mat, sizeof(Material) * cells));
    GPU(cudaMalloc(&g.clock, sizeof(Clock)));
    GPU(cudaMalloc(&dTr, sizeof(Tracer) * tracers));
    GPU(cudaMemcpy(g.cons, cons, sizeof(Cons) * cells, cudaMemcpyHostToDevice));
    GPU(cudaMemcpy(g.mat, mat, sizeof(Material) * cells, cudaMemcpyHostToDevice));
    GPU(cudaMemcpy(dTr, tr, sizeof(Tracer) * tracers, cudaMemcpyHostToDevice));
    GPU(cudaMemset(g.clock, 0, sizeof(Clock)));

    cudaEvent_t t0, t1;
    GPU(cudaEventCreate(&t0)); GPU(cudaEventCreate(&t1));
    const dim3 block(BX, BY), grid((n + BX - 1) / BX, (n + BY - 1) / BY);
    for (int s = 0; s < warm + steps; ++s) {
        if (s == warm) GPU(cudaEventRecord(t0));
        toPrimitive<<<grid, block>>>(g);
        setTimeStep<<<1, 1>>>(g.clock, dx);
        faceFlux<0><<<grid, block>>>(g, g.fx);
        faceFlux<1><<<grid, block>>>(g, g.fy);
        moveTracers<<<512, 128>>>(dTr, tracers, g.prim, g.clock, n);
        update<<<grid, block>>>(g, dx);
    }
    GPU(cudaEventRecord(t1));
    GPU(cudaEventSynchronize(t1));
    GPU(cudaGetLastError());
    float ms = 0.0f;
    GPU(cudaEventElapsedTime(&ms, t0, t1));

    Clock clock;
    GPU(cudaMemcpy(cons, g.cons, sizeof(Cons) * cells, cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(mat, g.mat, sizeof(Material) * cells, cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(tr, dTr, sizeof(Tracer) * tracers, cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(&clock, g.clock, sizeof(Clock), cudaMemcpyDeviceToHost));
    long long mass = 0, energy = 0, field = 0, path = 0;
    for (int k = 0; k < cells; ++k) {
        mass += llrint(cons[k].rho * 1e8);
        energy += llrint(cons[k].e * 1e8) + mat[k].hits;
        field += llrint((cons[k].bx * (1 + k % 3) + cons[k].by + cons[k].psi) * 1e8);
    }
    for (int k = 0; k < tracers; ++k)
        path += llrint((tr[k].x + 2.0 * tr[k].y) * 1e7) + llrint((tr[k].b.x + tr[k].b.y + tr[k].rho + tr[k].work) * 1e4) + tr[k].crossings;
    std::printf("check %lld/%lld/%lld/%lld/%lld\n", mass, energy, field, path, (long long)llrint(clock.t * 1e12));
    std::printf("time_ms %.5f\n", ms / steps);
    return 0;
}
