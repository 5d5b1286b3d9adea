/*
 * Discrete elements: grains of sand with contacts that remember their shear.
 * Each grain has a list of neighbours with room for a fixed number of them.
 */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define SAFE(x) safe((x), #x)
inline void safe(cudaError_t e, const char *what) {
    if (e == cudaSuccess) return;
    fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(e));
    exit(1);
}

struct Grain {
    float4 pos;              // and radius
    float4 vel;              // and inverse mass
    float3 omega;
    float3 force;
    float3 torque;
    int material;
    int neighbours;
    int touching;
};

struct Contact {
    int other;
    float3 shear;
    float overlap;
};

struct Material {
    float stiffness, damping;
    float friction;
    float density;
};

struct World {
    int grains;
    int room;                // contacts per grain
    float dt;
    float3 gravity;
    float floor;
    float wall_stiffness;
};

__constant__ World world;
__constant__ Material materials[4];

__global__ void contacts_and_forces(Grain *grains, Contact *contacts) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= world.grains) return;
    float4 xi = grains[i].pos, vi = grains[i].vel;
    float3 wi = grains[i].omega;
    Material mi = materials[grains[i].material];
    float3 force = make_float3(0, 0, 0), torque = make_float3(0, 0, 0);
    int touching = 0;
    int count = grains[i].neighbours;
    for (int k = 0; k < count; k++) {
        Contact &c = contacts[(size_t)i * world.room + k];
        int j = c.other;
        float4 xj = grains[j].pos;
        float dx = xj.x - xi.x, dy = xj.y - xi.y, dz = xj.z - xi.z;
        float reach = xi.w + xj.w;
        float r2 = dx * dx + dy * dy + dz * dz;
        if (r2 >= reach * reach) {
            if (c.overlap > 0) {         // it has just ended
                c.shear = make_float3(0, 0, 0);
                c.overlap = 0;
            }
            continue;
        }
        touching++;
        float r = sqrtf(r2), overlap = reach - r;
        float nx = dx / r, ny = dy / r, nz = dz / r;
        float4 vj = grains[j].vel;
        float3 wj = grains[j].omega;
        Material mj = materials[grains[j].material];
        float kn = 2 * mi.stiffness * mj.stiffness / (mi.stiffness + mj.stiffness);
        float mu = fminf(mi.friction, mj.friction);
        float rx = vj.x - vi.x, ry = vj.y - vi.y, rz = vj.z - vi.z;
        float wx = xi.w * wi.x + xj.w * wj.x, wy = xi.w * wi.y + xj.w * wj.y, wz = xi.w * wi.z + xj.w * wj.z;
        rx -= wy * nz - wz * ny, ry -= wz * nx - wx * nz, rz -= wx * ny - wy * nx;
        float vn = rx * nx + ry * ny + rz * nz;
        float fn = kn * overlap - 0.5f * (mi.damping + mj.damping) * vn;
        float3 s = c.shear;
        s.x += world.dt * (rx - vn * nx);
        s.y += world.dt * (ry - vn * ny);
        s.z += world.dt * (rz - vn * nz);
        float ft = 0.3f * kn * sqrtf(s.x * s.x + s.y * s.y + s.z * s.z);
        float most = mu * fabsf(fn);
        if (ft > most) {                 // it slides
            float q = most / ft;
            s.x *= q, s.y *= q, s.z *= q;
        }
        c.shear = s;
        c.overlap = overlap;
        float tx = 0.3f * kn * s.x, ty = 0.3f * kn * s.y, tz = 0.3f * kn * s.z;
        force.x += tx - fn * nx;
        force.y += ty - fn * ny;
        force.z += tz - fn * nz;
        torque.x += xi.w * (ny * tz - nz * ty);
        torque.y += xi.w * (nz * tx - nx * tz);
        torque.z += xi.w * (nx * ty - ny * tx);
    }
    if (xi.z - xi.w < world.floor) force.z += world.wall_stiffness * (world.floor - (xi.z - xi.w));
    grains[i].force = force;
    grains[i].torque = torque;
    grains[i].touching = touching;
}

__global__ void move(Grain *grains) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= world.grains) return;
    float4 x = grains[i].pos, v = grains[i].vel;
    float3 f = grains[i].force, t = grains[i].torque, w = grains[i].omega;
    float spin = 2.5f * v.w / (x.w * x.w) * world.dt;
    v.x += world.dt * (f.x * v.w + world.gravity.x);
    v.y += world.dt * (f.y * v.w + world.gravity.y);
    v.z += world.dt * (f.z * v.w + world.gravity.z);
    x.x += world.dt * v.x, x.y += world.dt * v.y, x.z += world.dt * v.z;
    w.x += spin * t.x, w.y += spin * t.y, w.z += spin * t.z;
    grains[i].pos = x;
    grains[i].vel = v;
    grains[i].omega = w;
}

static float jitter(unsigned k) {
    k = (k ^ k >> 16) * 0x7feb352du;
    k = (k ^ k >> 15) * 0x846ca68bu;
    return ((k ^ k >> 16) >> 8) / 8388608.0f - 1;
}

int main(int argc, char **argv) {
    int wanted = argc > 1 ? atoi(argv[1]) : 900000;
    int side = (int)cbrt((double)wanted);
    World w;
    w.grains = side * side * side;
    w.room = 14;
    w.dt = 1e-3f;
    w.gravity = make_float3(0.5f, 0, -9.81f);
    w.floor = 0;
    w.wall_stiffness = 2000;
    Material sand[4] = {{800, 1.0f, 0.5f, 2.6f}, {1200, 1.5f, 0.4f, 2.2f}, {500, 0.6f, 0.7f, 1.5f}, {900, 2.0f, 0.3f, 3.0f}};
    SAFE(cudaMemcpyToSymbol(world, &w, sizeof(w)));
    SAFE(cudaMemcpyToSymbol(materials, sand, sizeof(sand)));

    std::vector<Grain> grains(w.grains);
    std::vector<Contact> contacts((size_t)w.grains * w.room);
    for (int i = 0; i < w.grains; i++) {
        int x = i % side, y = i / side % side, z = i / side / side;
        Grain &g = grains[i];
        g = Grain();
        float radius = 0.5f + 0.04f * jitter(4 * i);
        g.material = (unsigned)i * 7919u >> 5 & 3;
        g.pos = make_float4(x + 0.05f * jitter(4 * i + 1), y + 0.05f * jitter(4 * i + 2), 0.5f + z + 0.05f * jitter(4 * i + 3), radius);
        g.vel = make_float4(0.2f * jitter(i), 0.2f * jitter(i + 7), 0.2f * jitter(i + 11), 1 / (sand[g.material].density * 4.19f * radius * radius * radius));
        // The six beside it, and of the diagonal ones those that happen to come near.
        for (int d = 0; d < 27 && g.neighbours < w.room; d++) {
            int dx = d % 3 - 1, dy = d / 3 % 3 - 1, dz = d / 9 - 1;
            int apart = abs(dx) + abs(dy) + abs(dz);
            if (apart == 0 || apart == 3 || (apart == 2 && jitter(i * 27 + d) < 0.2f)) continue;
            if (x + dx < 0 || y + dy < 0 || z + dz < 0 || x + dx >= side || y + dy >= side || z + dz >= side) continue;
            contacts[(size_t)i * w.room + g.neighbours++] = {i + (dz * side + dy) * side + dx, make_float3(0, 0, 0), 0};
        }
        for (int k = g.neighbours; k < w.room; k++) contacts[(size_t)i * w.room + k] = {-1, make_float3(0, 0, 0), 0};
    }
    Grain *d_grains;
    Contact *d_contacts;
    SAFE(cudaMalloc(&d_grains, grains.size() * sizeof(Grain)));
    SAFE(cudaMalloc(&d_contacts, contacts.size() * sizeof(Contact)));
    SAFE(cudaMemcpy(d_grains, grains.data(), grains.size() * sizeof(Grain), cudaMemcpyHostToDevice));
    SAFE(cudaMemcpy(d_contacts, contacts.data(), contacts.size() * sizeof(Contact), cudaMemcpyHostToDevice));

    cudaEvent_t a, b;
    SAFE(cudaEventCreate(&a));
    SAFE(cudaEventCreate(&b));
    int blocks = (w.grains + 127) / 128;
    const int steps = 60;
    for (int s = 0; s < steps + 1; s++) {
        if (s == 1) SAFE(cudaEventRecord(a));
        contacts_and_forces<<<blocks, 128>>>(d_grains, d_contacts);
        move<<<blocks, 128>>>(d_grains);
    }
    SAFE(cudaGetLastError());
    SAFE(cudaEventRecord(b));
    SAFE(cudaEventSynchronize(b));
    SAFE(cudaMemcpy(grains.data(), d_grains, grains.size() * sizeof(Grain), cudaMemcpyDeviceToHost));
    unsigned long long check = 0;
    for (const Grain &g : grains)
        check = check * 31 + llroundf(g.pos.x * 100) + 3 * llroundf(g.pos.z * 100) + 5 * llroundf(g.vel.y * 100) + 7 * llroundf(g.omega.x * 16) + g.touching;
    float ms;
    SAFE(cudaEventElapsedTime(&ms, a, b));
    printf("check %llu\ntime_ms %.4f\n", check, ms / steps);
    cudaFree(d_grains);
    cudaFree(d_contacts);
    return 0;
}
