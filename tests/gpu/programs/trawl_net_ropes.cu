// Towed trawl nets: knots joined by elastic bars, and a school of fish that
// reacts to its neighbours and gets caught in the mouths of the nets.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_CHECK(x)                                                          \
    do {                                                                       \
        cudaError_t err_ = (x);                                                \
        if (err_ != cudaSuccess) {                                             \
            fprintf(stderr, "cuda error '%s' in %s line %d\n",                 \
                    cudaGetErrorString(err_), __FILE__, __LINE__);             \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

struct Knot {
    float px, py, pz;
    float vx, vy, vz;
    float fx, fy, fz;
    float mass;
    float drag;
    int net;
    short row, col;
    unsigned char fixed;
    unsigned char fouled;
};

struct Bar {
    int a, b;
    float rest;
    float stiff;
    float tension;
    float wear;
    float strength;
    short material;
    unsigned char broken;
    unsigned char rope;
};

struct Fish {
    float x, y, z;
    float vx, vy, vz;
    float length;
    float weight;
    float stamina;
    float near_dist;
    int next;
    int nearest;
    int net;
    short crowd;
    unsigned char species;
    unsigned char caught;
};

struct Net {
    float mx, my, mz;
    float half_w, half_h;
    float speed;
    float catch_kg;
    int caught;
    int first_knot;
    int knots;
};

__global__ void bar_forces(Bar *bars, int nb, Knot *knots) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nb) {
        if (bars[i].broken) return;
        const Knot &a = knots[bars[i].a];
        const Knot &b = knots[bars[i].b];
        float dx = b.px - a.px, dy = b.py - a.py, dz = b.pz - a.pz;
        float len = sqrtf(dx * dx + dy * dy + dz * dz) + 1e-6f;
        float ext = len - bars[i].rest;
        float f = ext > 0.0f ? bars[i].stiff * ext : 0.0f;
        float inv = 1.0f / len;
        dx *= inv;
        dy *= inv;
        dz *= inv;
        if (f > 0.0f) {
            float rel = (b.vx - a.vx) * dx + (b.vy - a.vy) * dy + (b.vz - a.vz) * dz;
            f += 1.5f * rel;
            Knot *pa = &knots[bars[i].a], *pb = &knots[bars[i].b];
            atomicAdd(&pa->fx, f * dx);
            atomicAdd(&pa->fy, f * dy);
            atomicAdd(&pa->fz, f * dz);
            atomicAdd(&pb->fx, -f * dx);
            atomicAdd(&pb->fy, -f * dy);
            atomicAdd(&pb->fz, -f * dz);
        }
        bars[i].tension = f;
        float wear = bars[i].wear + 1e-4f * fabsf(f);
        bars[i].wear = wear;
        if (f > bars[i].strength * (1.0f - fminf(wear, 0.5f))) bars[i].broken = 1;
    }
}

__global__ void move_knots(Knot *knots, int n, const Net *nets, float dt, float swell) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Knot k = knots[i];
        float tow = nets[k.net].speed;
        if (k.fixed) {
            k.px += dt * tow;
            k.vx = tow;
            k.vy = k.vz = 0.0f;
        } else {
            float wx = k.vx + 0.1f, wy = k.vy - 0.2f * swell, wz = k.vz - swell;
            float sp = sqrtf(wx * wx + wy * wy + wz * wz);
            float d = k.drag * sp * (k.fouled ? 2.0f : 1.0f);
            float im = 1.0f / k.mass;
            k.vx += dt * im * (k.fx - d * wx);
            k.vy += dt * im * (k.fy - d * wy);
            k.vz += dt * (im * (k.fz - d * wz) - 0.3f);
            k.px += dt * k.vx;
            k.py += dt * k.vy;
            k.pz += dt * k.vz;
        }
        k.fx = k.fy = k.fz = 0.0f;
        knots[i] = k;
    }
}

__global__ void move_nets(Net *nets, int n, float dt, float side) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        nets[i].mx += dt * 20.0f * nets[i].speed;
        if (nets[i].mx >= side) nets[i].mx -= side;
    }
}

__device__ int grid_cell(float x, float y, float z, int g) {
    int cx = min(max((int)x, 0), g - 1);
    int cy = min(max((int)y, 0), g - 1);
    int cz = min(max((int)z, 0), g - 1);
    return (cz * g + cy) * g + cx;
}

__global__ void chain_fish(Fish *fish, int n, int *head, int g) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (fish[i].caught) {
            fish[i].next = -1;
            return;
        }
        int c = grid_cell(fish[i].x, fish[i].y, fish[i].z, g);
        fish[i].next = atomicExch(&head[c], i);
    }
}

__global__ void school_fish(Fish *fish, int n, const int *head, int g) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (fish[i].caught) return;
        float x = fish[i].x, y = fish[i].y, z = fish[i].z;
        int cx = min(max((int)x, 0), g - 1);
        int cy = min(max((int)y, 0), g - 1);
        int cz = min(max((int)z, 0), g - 1);
        float best = 1.0f;
        int near = -1, crowd = 0;
        for (int dz = -1; dz <= 1; dz++)
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++) {
                    int ax = cx + dx, ay = cy + dy, az = cz + dz;
                    if (ax < 0 || ay < 0 || az < 0 || ax >= g || ay >= g || az >= g) continue;
                    for (int j = head[(az * g + ay) * g + ax]; j >= 0; j = fish[j].next) {
                        if (j == i) continue;
                        float ex = fish[j].x - x, ey = fish[j].y - y, ez = fish[j].z - z;
                        float d2 = ex * ex + ey * ey + ez * ez;
                        if (d2 < 0.64f) crowd++;
                        if (d2 < best || (d2 == best && j < near)) {
                            best = d2;
                            near = j;
                        }
                    }
                }
        fish[i].crowd = (short)crowd;
        fish[i].nearest = near;
        fish[i].near_dist = sqrtf(best);
    }
}

__global__ void steer_fish(Fish *fish, int n, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Fish &f = fish[i];
        if (f.caught) return;
        if (f.nearest >= 0) {
            const Fish &o = fish[f.nearest];
            float sign = f.near_dist < 0.3f ? -1.0f : 0.5f;
            float w = dt * sign / (f.near_dist + 0.05f);
            f.vx += w * (o.x - f.x);
            f.vy += w * (o.y - f.y);
            f.vz += w * (o.z - f.z);
        }
        float want = 0.4f + 0.05f * f.crowd * (f.stamina > 0.2f ? 1.0f : 0.3f);
        float sp = sqrtf(f.vx * f.vx + f.vy * f.vy + f.vz * f.vz) + 1e-5f;
        float s = 1.0f + 0.3f * (fminf(want, 2.0f) - sp) / fmaxf(sp, 0.1f);
        f.vx *= s;
        f.vy *= s;
        f.vz *= s;
        f.stamina = fminf(fmaxf(f.stamina + dt * (0.05f - 0.08f * sp), 0.0f), 1.0f);
    }
}

__global__ void swim_fish(Fish *fish, int n, Net *nets, float side, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (fish[i].caught) return;
        float x = fish[i].x + dt * fish[i].vx;
        float y = fish[i].y + dt * fish[i].vy;
        float z = fish[i].z + dt * fish[i].vz;
        if (x < 0.0f) x += side;
        if (x >= side) x -= side;
        if (y < 0.0f || y >= side) fish[i].vy = -fish[i].vy;
        if (z < 0.0f || z >= side) fish[i].vz = -fish[i].vz;
        fish[i].x = fminf(fmaxf(x, 0.0f), side - 1e-3f);
        fish[i].y = fminf(fmaxf(y, 0.0f), side - 1e-3f);
        fish[i].z = fminf(fmaxf(z, 0.0f), side - 1e-3f);
        Net *net = &nets[fish[i].net];
        if (fabsf(x - net->mx) < 0.2f && fabsf(y - net->my) < net->half_w &&
            fabsf(z - net->mz) < net->half_h && fish[i].length > 0.12f) {
            fish[i].caught = 1;
            atomicAdd(&net->caught, 1);
            atomicAdd(&net->catch_kg, fish[i].weight);
        }
    }
}

static unsigned int s_rng = 987654321u;
static float uni() {
    s_rng = s_rng * 1103515245u + 12345u;
    return ((s_rng >> 9) & 0x3fffff) / 4194304.0f;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 900000;
    if (n < 32) n = 32;
    int cols = n < 1536 ? 8 : 32;
    int rows = n < 1536 ? n / 8 : 48;
    int per_net = rows * cols;
    int n_nets = n / per_net;
    int nk = n_nets * per_net;
    int nf = n;
    int g = (int)std::cbrt(nf / 4.0);
    if (g < 2) g = 2;
    float side = (float)g;

    std::vector<Net> nets(n_nets);
    std::vector<Knot> knots(nk);
    std::vector<Bar> bars;
    bars.reserve((size_t)nk * 2);
    int lanes = (int)std::ceil(std::sqrt((double)n_nets));
    float lane = side / lanes;
    for (int t = 0; t < n_nets; t++) {
        Net &m = nets[t];
        m.mx = side * uni();
        m.my = (t % lanes + 0.5f) * lane;
        m.mz = (t / lanes + 0.5f) * lane;
        m.half_w = 0.4f * lane;
        m.half_h = 0.3f * lane;
        m.speed = 0.8f + 0.6f * uni();
        m.catch_kg = 0.0f;
        m.caught = 0;
        m.first_knot = t * per_net;
        m.knots = per_net;
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < cols; c++) {
                int id = t * per_net + r * cols + c;
                float ang = 6.2831853f * c / cols;
                float rad = 2.0f * (1.0f - 0.7f * r / rows);
                Knot &k = knots[id];
                k.px = -0.25f * r;
                k.py = rad * cosf(ang);
                k.pz = 0.6f * rad * sinf(ang);
                k.vx = m.speed;
                k.vy = k.vz = 0.0f;
                k.fx = k.fy = k.fz = 0.0f;
                k.mass = 0.8f + 0.4f * uni();
                k.drag = 0.02f + 0.03f * uni();
                k.net = t;
                k.row = (short)r;
                k.col = (short)c;
                k.fixed = r == 0;
                k.fouled = uni() < 0.05f;
                for (int d = 0; d < 2; d++) {
                    if (d == 0 && r + 1 >= rows) continue;
                    Bar b;
                    b.a = id;
                    b.b = d == 0 ? id + cols : t * per_net + r * cols + (c + 1) % cols;
                    b.rest = d == 0 ? 0.24f : 0.95f * 6.2831853f * rad * 0.8f / cols;
                    b.rope = c % 8 == 0;
                    b.stiff = b.rope ? 180.0f : 90.0f;
                    b.tension = 0.0f;
                    b.wear = 0.1f * uni();
                    b.strength = (b.rope ? 60.0f : 20.0f) * (0.6f + uni());
                    b.material = (short)(uni() * 4);
                    b.broken = 0;
                    bars.push_back(b);
                }
            }
    }
    int nb = (int)bars.size();
    std::vector<Fish> fish(nf);
    for (int i = 0; i < nf; i++) {
        Fish &f = fish[i];
        f.x = side * 0.999f * uni();
        f.y = side * 0.999f * uni();
        f.z = side * 0.999f * uni();
        f.vx = uni() - 0.5f;
        f.vy = uni() - 0.5f;
        f.vz = 0.3f * (uni() - 0.5f);
        f.length = 0.08f + 0.5f * uni() * uni();
        f.weight = 12.0f * f.length * f.length * f.length;
        f.stamina = uni();
        f.near_dist = 1.0f;
        f.next = f.nearest = -1;
        int ly = (int)(f.y / lane), lz = (int)(f.z / lane);
        f.net = (lz * lanes + ly) % n_nets;
        f.crowd = 0;
        f.species = (unsigned char)(uni() * 6);
        f.caught = 0;
    }

    Net *d_nets;
    Knot *d_knots;
    Bar *d_bars;
    Fish *d_fish;
    int *d_head;
    size_t cells = (size_t)g * g * g;
    CUDA_CHECK(cudaMalloc(&d_nets, n_nets * sizeof(Net)));
    CUDA_CHECK(cudaMalloc(&d_knots, nk * sizeof(Knot)));
    CUDA_CHECK(cudaMalloc(&d_bars, nb * sizeof(Bar)));
    CUDA_CHECK(cudaMalloc(&d_fish, nf * sizeof(Fish)));
    CUDA_CHECK(cudaMalloc(&d_head, cells * sizeof(int)));
    CUDA_CHECK(cudaMemcpy(d_nets, nets.data(), n_nets * sizeof(Net), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_knots, knots.data(), nk * sizeof(Knot), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_bars, bars.data(), nb * sizeof(Bar), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_fish, fish.data(), nf * sizeof(Fish), cudaMemcpyHostToDevice));

    const int tb = 256;
    const float dt = 0.01f;
    cudaEvent_t t0, t1;
    CUDA_CHECK(cudaEventCreate(&t0));
    CUDA_CHECK(cudaEventCreate(&t1));
    const int frames = 10, substeps = 4;
    for (int fr = 0; fr <= frames; fr++) {
        if (fr == 1) CUDA_CHECK(cudaEventRecord(t0));
        for (int s = 0; s < substeps; s++) {
            float swell = 0.15f * sinf(0.3f * (fr * substeps + s));
            bar_forces<<<(nb + tb - 1) / tb, tb>>>(d_bars, nb, d_knots);
            move_knots<<<(nk + tb - 1) / tb, tb>>>(d_knots, nk, d_nets, dt, swell);
        }
        move_nets<<<(n_nets + tb - 1) / tb, tb>>>(d_nets, n_nets, dt, side);
        CUDA_CHECK(cudaMemsetAsync(d_head, 0xff, cells * sizeof(int)));
        chain_fish<<<(nf + tb - 1) / tb, tb>>>(d_fish, nf, d_head, g);
        school_fish<<<(nf + tb - 1) / tb, tb>>>(d_fish, nf, d_head, g);
        steer_fish<<<(nf + tb - 1) / tb, tb>>>(d_fish, nf, 0.1f);
        swim_fish<<<(nf + tb - 1) / tb, tb>>>(d_fish, nf, d_nets, side, 0.1f);
    }
    CUDA_CHECK(cudaEventRecord(t1));
    CUDA_CHECK(cudaEventSynchronize(t1));
    CUDA_CHECK(cudaGetLastError());
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, t0, t1));

    CUDA_CHECK(cudaMemcpy(nets.data(), d_nets, n_nets * sizeof(Net), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(knots.data(), d_knots, nk * sizeof(Knot), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(bars.data(), d_bars, nb * sizeof(Bar), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(fish.data(), d_fish, nf * sizeof(Fish), cudaMemcpyDeviceToHost));

    long long caught = 0, crowd = 0, in_nets = 0, broken = 0;
    double kg = 0, stamina = 0, near = 0, px = 0, energy = 0, tension = 0, wear = 0;
    for (auto &m : nets) {
        in_nets += m.caught;
        kg += m.catch_kg;
    }
    for (auto &f : fish) {
        caught += f.caught;
        crowd += f.crowd;
        stamina += f.stamina;
        near += f.near_dist;
    }
    for (auto &k : knots) {
        px += k.px;
        energy += 0.5 * k.mass * (k.vx * k.vx + k.vy * k.vy + k.vz * k.vz);
    }
    for (auto &b : bars) {
        tension += b.tension;
        wear += b.wear;
        broken += b.broken;
    }
    printf("check caught %lld\n", caught);
    printf("check in_nets %lld\n", in_nets);
    printf("check crowd %lld\n", crowd);
    printf("check stamina %.6g\n", stamina);
    printf("check near_dist %.6g\n", near);
    printf("check catch_kg %.2e\n", kg);
    printf("check knot_x %.2e\n", px);
    printf("check energy %.2e\n", energy);
    printf("check tension %.2e\n", tension);
    printf("check wear %.2e\n", wear);
    printf("check broken %.2e\n", (double)broken);
    printf("time_ms %.4f\n", ms / frames);
    CUDA_CHECK(cudaFree(d_nets));
    CUDA_CHECK(cudaFree(d_knots));
    CUDA_CHECK(cudaFree(d_bars));
    CUDA_CHECK(cudaFree(d_fish));
    CUDA_CHECK(cudaFree(d_head));
    return 0;
}
