// Toy MD of a Stockmayer fluid (Lennard-Jones + point dipoles), reduced units,
// rigid-rotor dipoles, velocity Verlet, cell lists built once (short runs!).
//
// $ nvcc -std=c++17 -O3 -arch=sm_90 stockmayer_fluid.cu && ./a.out

#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

typedef float real;

struct real3_ { real x, y, z; };

struct Dipole {
    real3_ r;        // position
    real3_ v;        // velocity
    real3_ f;        // force
    real3_ mu;       // dipole moment
    real3_ w;        // angular velocity
    real3_ tq;       // torque
    real   pot;      // potential energy share
    int    cell;
    int    id;
};

struct Cell {
    int start;
    int count;
    int nb[27];
};

struct Totals {
    double kin, rot, pot;
    double mux, muy, muz;
};

#define CHK(x)                                                              \
    if ((x) != cudaSuccess) {                                               \
        printf("error in line %d: %s\n", __LINE__,                          \
               cudaGetErrorString(cudaGetLastError()));                     \
        exit(1);                                                            \
    }

const int   NC      = 18;              // cells per side
const int   SIDE    = 56;              // lattice points per side
const int   NPART   = SIDE * SIDE * SIDE;
const real  BOX     = 59.4f;           // 18 cells of 3.3
const real  RCUT    = 3.0f;
const real  DT      = 0.0015f;
const real  INERTIA = 0.1f;
const real  MU      = 1.2f;

__device__ real wrapd(real d)
{
    if (d > 0.5f * BOX) d -= BOX;
    if (d < -0.5f * BOX) d += BOX;
    return d;
}

__device__ real dot3(const real3_ &a, const real3_ &b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

__device__ real3_ cross3(const real3_ &a, const real3_ &b)
{
    real3_ c;
    c.x = a.y * b.z - a.z * b.y;
    c.y = a.z * b.x - a.x * b.z;
    c.z = a.x * b.y - a.y * b.x;
    return c;
}

__device__ void axpy(real3_ *y, real a, const real3_ &x)
{
    y->x += a * x.x;
    y->y += a * x.y;
    y->z += a * x.z;
}

/* pair interaction of i with j; adds force, torque and energy to i's accumulators */
__device__ void interact(const Dipole &me, const Dipole &other, real3_ *f, real3_ *field, real *u)
{
    real3_ d;
    d.x = wrapd(me.r.x - other.r.x);
    d.y = wrapd(me.r.y - other.r.y);
    d.z = wrapd(me.r.z - other.r.z);
    real r2 = dot3(d, d);
    if (r2 >= RCUT * RCUT) return;
    real i2 = 1.0f / r2;
    real i6 = i2 * i2 * i2;
    real lj = 24.0f * i2 * i6 * (2.0f * i6 - 1.0f);
    axpy(f, lj, d);
    *u += 2.0f * i6 * (i6 - 1.0f);

    real ir = sqrtf(i2), i3 = i2 * ir, i5 = i3 * i2;
    real mij = dot3(me.mu, other.mu), mi = dot3(me.mu, d), mj = dot3(other.mu, d);
    *u += 0.5f * (mij * i3 - 3.0f * mi * mj * i5);
    axpy(f, 3.0f * i5 * (mij - 5.0f * mi * mj * i2), d);
    axpy(f, 3.0f * i5 * mj, me.mu);
    axpy(f, 3.0f * i5 * mi, other.mu);
    axpy(field, 3.0f * mj * i5, d);
    axpy(field, -i3, other.mu);
}

__global__ void kick_drift(Dipole *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Dipole *d = &p[i];
    axpy(&d->v, 0.5f * DT, d->f);
    axpy(&d->w, 0.5f * DT / INERTIA, d->tq);
    axpy(&d->r, DT, d->v);
    if (d->r.x < 0) d->r.x += BOX;
    if (d->r.x >= BOX) d->r.x -= BOX;
    if (d->r.y < 0) d->r.y += BOX;
    if (d->r.y >= BOX) d->r.y -= BOX;
    if (d->r.z < 0) d->r.z += BOX;
    if (d->r.z >= BOX) d->r.z -= BOX;
    real3_ dm = cross3(d->w, d->mu);
    axpy(&d->mu, DT, dm);
    real s = MU / sqrtf(dot3(d->mu, d->mu));
    d->mu.x *= s;
    d->mu.y *= s;
    d->mu.z *= s;
}

__global__ void forces(Dipole *p, const Cell *cells, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    real3_ f = {0, 0, 0}, field = {0, 0, 0};
    real u = 0;
    const Cell &c = cells[p[i].cell];
    for (int k = 0; k < 27; k++) {
        int nc = c.nb[k];
        int s = cells[nc].start, e = s + cells[nc].count;
        for (int j = s; j < e; j++)
            if (j != i) interact(p[i], p[j], &f, &field, &u);
    }
    p[i].f = f;
    p[i].tq = cross3(p[i].mu, field);
    p[i].pot = u;
}

__global__ void kick(Dipole *p, int n)
{
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        Dipole d = p[i];
        axpy(&d.v, 0.5f * DT, d.f);
        axpy(&d.w, 0.5f * DT / INERTIA, d.tq);
        p[i] = d;
    }
}

__global__ void measure(const Dipole *p, Totals *t, int n)
{
    __shared__ double sk[256], sr[256], sp[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    double k = 0, r = 0, u = 0;
    if (i < n) {
        k = 0.5 * dot3(p[i].v, p[i].v);
        r = 0.5 * INERTIA * dot3(p[i].w, p[i].w);
        u = p[i].pot;
    }
    sk[threadIdx.x] = k;
    sr[threadIdx.x] = r;
    sp[threadIdx.x] = u;
    __syncthreads();
    for (int h = 128; h > 0; h /= 2) {
        if (threadIdx.x < h) {
            sk[threadIdx.x] += sk[threadIdx.x + h];
            sr[threadIdx.x] += sr[threadIdx.x + h];
            sp[threadIdx.x] += sp[threadIdx.x + h];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        atomicAdd(&t->kin, sk[0]);
        atomicAdd(&t->rot, sr[0]);
        atomicAdd(&t->pot, sp[0]);
    }
}

static unsigned long long seed = 1234567;
static double rnd(void)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (seed >> 33) / 2147483648.0;
}
static real gauss(void) { return (real)((rnd() + rnd() + rnd() + rnd() + rnd() + rnd() - 3.0) * 1.4142); }

int main(void)
{
    const int ncell = NC * NC * NC, steps = 20;
    Dipole *h = (Dipole *)malloc(NPART * sizeof(Dipole));
    Dipole *tmp = (Dipole *)malloc(NPART * sizeof(Dipole));
    Cell *hc = (Cell *)malloc(ncell * sizeof(Cell));
    int k = 0;
    for (int z = 0; z < SIDE; z++)
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++, k++) {
                Dipole *d = &tmp[k];
                real a = BOX / SIDE;
                d->r.x = (x + 0.5f) * a + 0.08f * (real)(rnd() - 0.5);
                d->r.y = (y + 0.5f) * a + 0.08f * (real)(rnd() - 0.5);
                d->r.z = (z + 0.5f) * a + 0.08f * (real)(rnd() - 0.5);
                d->v.x = gauss(); d->v.y = gauss(); d->v.z = gauss();
                d->w.x = gauss(); d->w.y = gauss(); d->w.z = gauss();
                double c = 2 * rnd() - 1, ph = 6.283185307 * rnd(), s = sqrt(1 - c * c);
                d->mu.x = (real)(MU * s * cos(ph)); d->mu.y = (real)(MU * s * sin(ph)); d->mu.z = (real)(MU * c);
                d->f.x = d->f.y = d->f.z = 0;
                d->tq.x = d->tq.y = d->tq.z = 0;
                d->pot = 0;
                d->id = k;
                int cx = (int)(d->r.x / BOX * NC), cy = (int)(d->r.y / BOX * NC), cz = (int)(d->r.z / BOX * NC);
                d->cell = (cz * NC + cy) * NC + cx;
            }
    /* counting sort by cell */
    for (int c = 0; c < ncell; c++) hc[c].count = 0;
    for (int i = 0; i < NPART; i++) hc[tmp[i].cell].count++;
    int at = 0;
    for (int c = 0; c < ncell; c++) { hc[c].start = at; at += hc[c].count; hc[c].count = 0; }
    for (int i = 0; i < NPART; i++) {
        Cell *c = &hc[tmp[i].cell];
        h[c->start + c->count++] = tmp[i];
    }
    for (int z = 0; z < NC; z++)
        for (int y = 0; y < NC; y++)
            for (int x = 0; x < NC; x++) {
                int q = 0;
                for (int dz = -1; dz <= 1; dz++)
                    for (int dy = -1; dy <= 1; dy++)
                        for (int dx = -1; dx <= 1; dx++)
                            hc[(z * NC + y) * NC + x].nb[q++] =
                                (((z + dz + NC) % NC) * NC + (y + dy + NC) % NC) * NC + (x + dx + NC) % NC;
            }

    Dipole *dp;
    Cell *dc;
    Totals *dt, ht;
    CHK(cudaMalloc((void **)&dp, NPART * sizeof(Dipole)));
    CHK(cudaMalloc((void **)&dc, ncell * sizeof(Cell)));
    CHK(cudaMalloc((void **)&dt, sizeof(Totals)));
    CHK(cudaMemcpy(dp, h, NPART * sizeof(Dipole), cudaMemcpyHostToDevice));
    CHK(cudaMemcpy(dc, hc, ncell * sizeof(Cell), cudaMemcpyHostToDevice));
    CHK(cudaMemset(dt, 0, sizeof(Totals)));

    int nb = (NPART + 127) / 128;
    cudaEvent_t ev[2];
    CHK(cudaEventCreate(&ev[0]));
    CHK(cudaEventCreate(&ev[1]));
    forces<<<nb, 128>>>(dp, dc, NPART);
    for (int s = 0; s <= steps; s++) {
        if (s == 1) CHK(cudaEventRecord(ev[0]));
        kick_drift<<<nb, 128>>>(dp, NPART);
        forces<<<nb, 128>>>(dp, dc, NPART);
        kick<<<528, 256>>>(dp, NPART);
        if (s % 5 == 0) measure<<<(NPART + 255) / 256, 256>>>(dp, dt, NPART);
    }
    CHK(cudaEventRecord(ev[1]));
    CHK(cudaGetLastError());
    CHK(cudaEventSynchronize(ev[1]));
    float ms;
    CHK(cudaEventElapsedTime(&ms, ev[0], ev[1]));
    CHK(cudaMemcpy(h, dp, NPART * sizeof(Dipole), cudaMemcpyDeviceToHost));
    CHK(cudaMemcpy(&ht, dt, sizeof(Totals), cudaMemcpyDeviceToHost));

    double f2 = 0, t2 = 0, rx = 0, mu2 = 0;
    for (int i = 0; i < NPART; i++) {
        f2 += h[i].f.x * h[i].f.x + h[i].f.y * h[i].f.y + h[i].f.z * h[i].f.z;
        t2 += h[i].tq.x * h[i].tq.x + h[i].tq.y * h[i].tq.y + h[i].tq.z * h[i].tq.z;
        rx += h[i].r.x + 2 * h[i].r.y + 3 * h[i].r.z;
        mu2 += h[i].mu.x * h[i].mu.x * (1 + h[i].id % 3);
    }
    printf("check force2 %.6e\n", f2);
    printf("check torque2 %.6e\n", t2);
    printf("check pos %.6e\n", rx);
    printf("check mu2 %.6e\n", mu2);
    printf("check kinetic %.6e\n", ht.kin);
    printf("check rotational %.6e\n", ht.rot);
    printf("check potential %.6e\n", ht.pot);
    printf("time_ms %.4f\n", ms);
    cudaFree(dp);
    cudaFree(dc);
    cudaFree(dt);
    free(h);
    free(tmp);
    free(hc);
    return 0;
}
