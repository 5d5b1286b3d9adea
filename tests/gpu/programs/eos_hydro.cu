// Zones of a hydrodynamics code: the equation of state comes from a table in
// log density and log energy, then work is done and the next step is bounded.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t err = (call);                                                                  \
        if (err != cudaSuccess) {                                                                  \
            fprintf(stderr, "CUDA error %s in line %d\n", cudaGetErrorString(err), __LINE__);      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

struct Zone {
    double rho, energy;
    double pressure, sound_speed, temperature, gamma;
    double velocity[3];
    double stress[4];
    double mass;
    double burn;
    int material;
    int iterations;
};

struct EosPoint {
    double pressure, temperature, sound2, gamma;
};

// Where the axes of the table start, how fine they are, how long they are.
struct EosAxes {
    double log_rho_min, inv_dlog_rho;
    double log_e_min, inv_dlog_e;
    int n_rho, n_e;
    int per_material;
};

struct HydroControls {
    double dt;
    double spacing;
    double cfl;
    double divergence;
    long long zones;
};

__constant__ EosAxes eos;
__constant__ HydroControls controls;

__global__ void lookup_eos(Zone *zones, const EosPoint *table)
{
    long long z = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (z >= controls.zones)
        return;
    double fr = (log(zones[z].rho) - eos.log_rho_min) * eos.inv_dlog_rho;
    double fe = (log(zones[z].energy) - eos.log_e_min) * eos.inv_dlog_e;
    int ir = min(max((int)fr, 0), eos.n_rho - 2);
    int ie = min(max((int)fe, 0), eos.n_e - 2);
    fr -= ir;
    fe -= ie;
    const EosPoint *t = table + zones[z].material * eos.per_material + ir * eos.n_e + ie;
    EosPoint a = t[0], b = t[1], c = t[eos.n_e], d = t[eos.n_e + 1];
    double wa = (1 - fr) * (1 - fe), wb = (1 - fr) * fe, wc = fr * (1 - fe), wd = fr * fe;
    zones[z].pressure = wa * a.pressure + wb * b.pressure + wc * c.pressure + wd * d.pressure;
    zones[z].temperature = wa * a.temperature + wb * b.temperature + wc * c.temperature + wd * d.temperature;
    zones[z].gamma = wa * a.gamma + wb * b.gamma + wc * c.gamma + wd * d.gamma;
    zones[z].sound_speed = sqrt(wa * a.sound2 + wb * b.sound2 + wc * c.sound2 + wd * d.sound2);
}

// p dV work, expanding and compressing in turns.
__global__ void do_work(Zone *zones, double sign)
{
    long long z = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (z >= controls.zones)
        return;
    double rho = zones[z].rho, e = zones[z].energy;
    double strain = sign * controls.divergence * controls.dt * (1 + (z & 7) * 0.125);
    e -= zones[z].pressure / rho * strain;
    rho *= 1 - strain;
    zones[z].rho = rho;
    zones[z].energy = fmax(e, 1e-3);
    zones[z].iterations++;
}

// The longest stable step, as the bits of a positive double.
__global__ void bound_step(const Zone *zones, unsigned long long *shortest)
{
    __shared__ double least[256];
    double mine = 1e30;
    for (long long z = blockIdx.x * (long long)blockDim.x + threadIdx.x; z < controls.zones;
         z += (long long)gridDim.x * blockDim.x) {
        const Zone &q = zones[z];
        double speed = sqrt(q.velocity[0] * q.velocity[0] + q.velocity[1] * q.velocity[1] +
                            q.velocity[2] * q.velocity[2]);
        mine = fmin(mine, controls.cfl * controls.spacing / (speed + q.sound_speed));
    }
    least[threadIdx.x] = mine;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s)
            least[threadIdx.x] = fmin(least[threadIdx.x], least[threadIdx.x + s]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicMin(shortest, (unsigned long long)__double_as_longlong(least[0]));
}

int main(int argc, char **argv)
{
    HydroControls host_controls = {1e-3, 0.01, 0.4, 0.5, argc > 1 ? atoll(argv[1]) : 2000000};
    const long long n = host_controls.zones;
    const int materials = 6;
    EosAxes axes;
    axes.n_rho = 160;
    axes.n_e = 240;
    axes.per_material = axes.n_rho * axes.n_e;
    axes.log_rho_min = log(0.01);
    axes.inv_dlog_rho = (axes.n_rho - 1) / (log(100.0) - log(0.01));
    axes.log_e_min = log(0.001);
    axes.inv_dlog_e = (axes.n_e - 1) / (log(1000.0) - log(0.001));
    CHECK(cudaMemcpyToSymbol(eos, &axes, sizeof(EosAxes)));
    CHECK(cudaMemcpyToSymbol(controls, &host_controls, sizeof(HydroControls)));

    std::vector<EosPoint> table(materials * axes.per_material);
    for (int m = 0; m < materials; m++)
        for (int r = 0; r < axes.n_rho; r++)
            for (int e = 0; e < axes.n_e; e++) {
                double rho = exp(axes.log_rho_min + r / axes.inv_dlog_rho);
                double energy = exp(axes.log_e_min + e / axes.inv_dlog_e);
                double gamma = 1.3 + 0.06 * m + 0.1 / (1 + rho);
                table[m * axes.per_material + r * axes.n_e + e] = {(gamma - 1) * rho * energy, energy / (1.5 + m),
                                                                   gamma * (gamma - 1) * energy, gamma};
            }
    std::vector<Zone> zones(n);
    unsigned long long lcg = 99;
    auto draw = [&lcg]() {
        lcg = lcg * 6364136223846793005ull + 1442695040888963407ull;
        return (double)(lcg >> 40) / (1 << 24);
    };
    for (long long i = 0; i < n; i++) {
        Zone z = {};
        z.rho = exp(log(0.05) + draw() * log(1000.0));
        z.energy = exp(log(0.01) + draw() * log(10000.0));
        for (double &v : z.velocity)
            v = draw() - 0.5;
        z.mass = z.rho * 1e-6;
        z.material = (int)(i * materials / n);
        zones[i] = z;
    }

    Zone *d_zones;
    EosPoint *d_table;
    unsigned long long *d_shortest;
    CHECK(cudaMalloc(&d_zones, n * sizeof(Zone)));
    CHECK(cudaMalloc(&d_table, table.size() * sizeof(EosPoint)));
    CHECK(cudaMalloc(&d_shortest, sizeof(unsigned long long)));
    CHECK(cudaMemcpy(d_zones, zones.data(), n * sizeof(Zone), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_table, table.data(), table.size() * sizeof(EosPoint), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(d_shortest, 0x7f, sizeof(unsigned long long)));

    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    const int cycles = 100;
    int blocks = (int)((n + 255) / 256);
    for (int c = -2; c < cycles; c++) {
        if (c == 0)
            CHECK(cudaEventRecord(start));
        lookup_eos<<<blocks, 256>>>(d_zones, d_table);
        do_work<<<blocks, 256>>>(d_zones, c & 1 ? 1.0 : -1.0);
        bound_step<<<1056, 256>>>(d_zones, d_shortest);
    }
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));

    double shortest;
    CHECK(cudaMemcpy(zones.data(), d_zones, n * sizeof(Zone), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&shortest, d_shortest, sizeof shortest, cudaMemcpyDeviceToHost));
    unsigned long long check = llround(shortest * 1e9);
    for (const Zone &z : zones)
        check = check * 31 + llround(z.rho * 1e4) + 3 * llround(z.energy * 1e3) + 5 * llround(z.pressure * 100) +
                7 * llround(z.temperature * 1e3) + z.iterations;
    float ms;
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    printf("check %llu\ntime_ms %.4f\n", check, ms / cycles);
    CHECK(cudaFree(d_zones));
    CHECK(cudaFree(d_table));
    CHECK(cudaFree(d_shortest));
    return 0;
}
