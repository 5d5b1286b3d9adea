// hair_strands.cu - GPU hair solver (position based dynamics, one constraint
// solve per guide strand, interpolated follower strands for rendering).
// Standalone benchmark version of the plug-in's simulation back end.

#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace hair {

static constexpr int kRootsU = 128;
static constexpr int kRootsV = 128;
static constexpr int kStrands = kRootsU * kRootsV;
static constexpr int kVertsPerStrand = 32;
static constexpr int kVerts = kStrands * kVertsPerStrand;
static constexpr int kFollowers = 2;
static constexpr int kRenderVerts = kVerts * kFollowers;
static constexpr int kIterations = 3;
static constexpr int kMaxColliders = 8;

#define HAIR_CHECK(x) ::hair::checkResult((x), #x, __LINE__)

static void checkResult(cudaError_t r, const char* expr, int line)
{
    if (r == cudaSuccess) return;
    std::fprintf(stderr, "[hair] line %d: %s -> %s\n", line, expr, cudaGetErrorName(r));
    std::exit(3);
}

// ---------------------------------------------------------------- vector math
__host__ __device__ inline float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__host__ __device__ inline float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__host__ __device__ inline float3 operator*(float3 a, float s) { return make_float3(a.x * s, a.y * s, a.z * s); }
__host__ __device__ inline float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__host__ __device__ inline float length(float3 a) { return sqrtf(dot(a, a)); }
__host__ __device__ inline float3 xyz(float4 a) { return make_float3(a.x, a.y, a.z); }
__host__ __device__ inline float3 normalize(float3 a)
{
    float l = length(a);
    return a * (1.0f / (l > 1e-9f ? l : 1e-9f));
}

// ---------------------------------------------------------------- data
struct HairVertex {
    float4   position;      // w: inverse mass, 0 for pinned vertices
    float4   previous;      // w: rest length to the previous vertex
    float3   restOffset;    // rest pose in head space
    float    friction;
    float3   tangent;
    uint32_t flags;         // bit 0: touched a collider in this step
};

struct HairStrand {
    int      firstVertex;
    short    vertexCount;
    short    clump;
    float    globalStiffness;
    float    localStiffness;
    float    damping;
    float    thickness;
    float    restLength;
    float    stretch;       // measured, largest relative segment stretch
    int      contacts;      // measured
    uint32_t color;
};

struct RenderVertex {
    float3   position;
    uint32_t tangent;       // 10:10:10 snorm
    float    thickness;
    uint32_t color;
};

struct Collider {
    float3 a;
    float  radius;
    float3 b;
    float  friction;
};

struct StepParams {
    float  dt;
    float3 gravity;
    float3 wind;
    float  cosYaw, sinYaw;
    int    colliders;
};

__constant__ Collider g_colliders[kMaxColliders];

__device__ inline float3 headTransform(float3 p, const StepParams& sp)
{
    return make_float3(sp.cosYaw * p.x + sp.sinYaw * p.z, p.y, -sp.sinYaw * p.x + sp.cosYaw * p.z);
}

__device__ inline uint32_t packSnorm10(float3 t)
{
    int x = static_cast<int>(rintf(t.x * 511.0f)) & 0x3ff;
    int y = static_cast<int>(rintf(t.y * 511.0f)) & 0x3ff;
    int z = static_cast<int>(rintf(t.z * 511.0f)) & 0x3ff;
    return static_cast<uint32_t>(x | (y << 10) | (z << 20));
}

// ---------------------------------------------------------------- kernels
__global__ void IntegrateVertices(HairVertex* verts, const HairStrand* strands, int count, StepParams sp)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const int s = i / kVertsPerStrand, k = i % kVertsPerStrand;
        const float3 goal = headTransform(verts[i].restOffset, sp);
        float4 pos = verts[i].position;
        float4 prev = verts[i].previous;
        float3 p = xyz(pos);
        if (pos.w == 0.0f) {
            verts[i].previous = make_float4(p.x, p.y, p.z, prev.w);
            verts[i].position = make_float4(goal.x, goal.y, goal.z, 0.0f);
            verts[i].flags = 0u;
            continue;
        }
        const float damp = 1.0f - strands[s].damping;
        float3 v = (p - xyz(prev)) * damp;
        if (verts[i].flags & 1u) v = v * (1.0f - verts[i].friction);
        // wind acts perpendicular to the fibre
        const float3 t = verts[i].tangent;
        const float3 w = sp.wind - t * dot(sp.wind, t);
        float3 q = p + v + (sp.gravity + w) * (sp.dt * sp.dt);
        // global shape matching, stronger near the root
        const float fade = 1.0f - static_cast<float>(k) / kVertsPerStrand;
        q = q + (goal - q) * (strands[s].globalStiffness * fade * fade);
        verts[i].previous = make_float4(p.x, p.y, p.z, prev.w);
        verts[i].position = make_float4(q.x, q.y, q.z, pos.w);
        verts[i].flags = 0u;
    }
}

// One thread per strand, Gauss-Seidel sweep from root to tip.
__global__ void SolveStrands(HairVertex* verts, HairStrand* strands, int count)
{
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= count) return;
    HairVertex* v = verts + strands[s].firstVertex;
    const int n = strands[s].vertexCount;
    const float bend = strands[s].localStiffness;
    float worst = 0.0f;
    for (int it = 0; it < kIterations; ++it) {
        worst = 0.0f;
        float4 a = v[0].position;
        float3 dirPrev = make_float3(0.0f, 0.0f, 0.0f);
        for (int k = 1; k < n; ++k) {
            float4 b = v[k].position;
            const float rest = v[k].previous.w;
            float3 d = xyz(b) - xyz(a);
            float len = length(d);
            worst = fmaxf(worst, fabsf(len - rest) / rest);
            const float wsum = a.w + b.w;
            if (wsum > 0.0f) {
                const float c = (len - rest) / (fmaxf(len, 1e-6f) * wsum);
                a.x += a.w * c * d.x; a.y += a.w * c * d.y; a.z += a.w * c * d.z;
                b.x -= b.w * c * d.x; b.y -= b.w * c * d.y; b.z -= b.w * c * d.z;
            }
            if (k > 1 && b.w > 0.0f) {
                // pull towards a straight continuation of the previous segment
                const float3 target = xyz(a) + dirPrev * rest;
                b.x += bend * (target.x - b.x);
                b.y += bend * (target.y - b.y);
                b.z += bend * (target.z - b.z);
            }
            v[k - 1].position = a;
            dirPrev = normalize(xyz(b) - xyz(a));
            a = b;
        }
        v[n - 1].position = a;
    }
    strands[s].stretch = worst;
    strands[s].contacts = 0;
}

__global__ void CollideVertices(HairVertex* verts, HairStrand* strands, int count, StepParams sp)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        float4 pos = verts[i].position;
        if (pos.w == 0.0f) continue;
        float3 p = xyz(pos);
        bool hit = false;
        for (int c = 0; c < sp.colliders; ++c) {
            const Collider col = g_colliders[c];
            const float3 ab = col.b - col.a;
            float t = dot(p - col.a, ab) / fmaxf(dot(ab, ab), 1e-12f);
            t = fminf(fmaxf(t, 0.0f), 1.0f);
            const float3 q = col.a + ab * t;
            const float3 d = p - q;
            const float l = length(d);
            if (l < col.radius) {
                p = q + d * (col.radius / fmaxf(l, 1e-6f));
                hit = true;
            }
        }
        if (hit) {
            verts[i].position = make_float4(p.x, p.y, p.z, pos.w);
            verts[i].flags = 1u;
            atomicAdd(&strands[i / kVertsPerStrand].contacts, 1);
        }
    }
}

__global__ void UpdateTangents(HairVertex* verts, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int k = i % kVertsPerStrand;
    const int a = k > 0 ? i - 1 : i;
    const int b = k < kVertsPerStrand - 1 ? i + 1 : i;
    verts[i].tangent = normalize(xyz(verts[b].position) - xyz(verts[a].position));
}

__global__ void InterpolateFollowers(const HairVertex* verts, const HairStrand* strands, RenderVertex* out,
                                     int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int k = i % kVertsPerStrand;
    const int f = i / kVertsPerStrand;
    const int g0 = f / kFollowers;
    const int u = g0 % kRootsU, w = g0 / kRootsU;
    const int g1 = w * kRootsU + (u + 1) % kRootsU;
    const int g2 = ((w + 1) % kRootsV) * kRootsU + u;
    const float tip = static_cast<float>(k) / (kVertsPerStrand - 1);
    const float b1 = (f % kFollowers == 0 ? 0.3f : 0.15f) * (1.0f - 0.8f * tip);
    const float b2 = (f % kFollowers == 0 ? 0.15f : 0.3f) * (1.0f - 0.8f * tip);
    const HairVertex& v0 = verts[g0 * kVertsPerStrand + k];
    const HairVertex& v1 = verts[g1 * kVertsPerStrand + k];
    const HairVertex& v2 = verts[g2 * kVertsPerStrand + k];
    const float3 p = xyz(v0.position) * (1.0f - b1 - b2) + xyz(v1.position) * b1 + xyz(v2.position) * b2;
    const float3 t = normalize(v0.tangent * (1.0f - b1 - b2) + v1.tangent * b1 + v2.tangent * b2);
    out[i].position = p;
    out[i].tangent = packSnorm10(t);
    out[i].thickness = strands[g0].thickness * (1.0f - 0.7f * tip);
    out[i].color = strands[g0].color + (v0.flags & 1u);
}

// ---------------------------------------------------------------- solver
class HairSolver {
public:
    void Initialize()
    {
        BuildGroom();
        HAIR_CHECK(cudaMalloc(&m_verts, sizeof(HairVertex) * kVerts));
        HAIR_CHECK(cudaMalloc(&m_strands, sizeof(HairStrand) * kStrands));
        HAIR_CHECK(cudaMalloc(&m_render, sizeof(RenderVertex) * kRenderVerts));
        HAIR_CHECK(cudaMemcpy(m_verts, m_hostVerts.data(), sizeof(HairVertex) * kVerts, cudaMemcpyHostToDevice));
        HAIR_CHECK(cudaMemcpy(m_strands, m_hostStrands.data(), sizeof(HairStrand) * kStrands,
                              cudaMemcpyHostToDevice));
        HAIR_CHECK(cudaMemset(m_render, 0, sizeof(RenderVertex) * kRenderVerts));

        Collider col[2];
        col[0].a = make_float3(0.0f, 0.0f, 0.0f);              // skull
        col[0].b = make_float3(0.0f, 0.05f, 0.0f);
        col[0].radius = 1.04f;
        col[0].friction = 0.2f;
        col[1].a = make_float3(-1.5f, -1.6f, 0.0f);            // shoulders
        col[1].b = make_float3(1.5f, -1.6f, 0.0f);
        col[1].radius = 0.9f;
        col[1].friction = 0.4f;
        HAIR_CHECK(cudaMemcpyToSymbol(g_colliders, col, sizeof(col)));
    }

    void Step()
    {
        StepParams sp;
        const float time = m_frame * (1.0f / 120.0f);
        sp.dt = 1.0f / 120.0f;
        sp.gravity = make_float3(0.0f, -9.81f, 0.0f);
        sp.wind = make_float3(2.0f * std::sin(1.3f * time), 0.0f, 1.0f);
        const float yaw = 0.3f * std::sin(2.0f * time);
        sp.cosYaw = std::cos(yaw);
        sp.sinYaw = std::sin(yaw);
        sp.colliders = 2;

        IntegrateVertices<<<1024, 256>>>(m_verts, m_strands, kVerts, sp);
        SolveStrands<<<(kStrands + 63) / 64, 64>>>(m_verts, m_strands, kStrands);
        CollideVertices<<<1024, 256>>>(m_verts, m_strands, kVerts, sp);
        UpdateTangents<<<(kVerts + 255) / 256, 256>>>(m_verts, kVerts);
        InterpolateFollowers<<<(kRenderVerts + 255) / 256, 256>>>(m_verts, m_strands, m_render, kRenderVerts);
        ++m_frame;
    }

    bool Validate()
    {
        HAIR_CHECK(cudaGetLastError());
        HAIR_CHECK(cudaDeviceSynchronize());
        Readback();
        for (const HairVertex& v : m_hostVerts)
            if (!std::isfinite(v.position.x + v.position.y + v.position.z)) return false;
        return true;
    }

    void Readback()
    {
        m_hostRender.resize(kRenderVerts);
        HAIR_CHECK(cudaMemcpy(m_hostVerts.data(), m_verts, sizeof(HairVertex) * kVerts, cudaMemcpyDeviceToHost));
        HAIR_CHECK(cudaMemcpy(m_hostStrands.data(), m_strands, sizeof(HairStrand) * kStrands,
                              cudaMemcpyDeviceToHost));
        HAIR_CHECK(cudaMemcpy(m_hostRender.data(), m_render, sizeof(RenderVertex) * kRenderVerts,
                              cudaMemcpyDeviceToHost));
    }

    void PrintChecks() const
    {
        double radius = 0, tx = 0, hang = 0, stretch = 0, thick = 0, rr = 0;
        long long contacts = 0;
        int pinned = 0;
        for (const HairVertex& v : m_hostVerts) {
            const float3 p = xyz(v.position);
            radius += length(p);
            tx += std::fabs(v.tangent.y);
            hang += p.y + 2.0;
            pinned += v.position.w == 0.0f;
        }
        for (const HairStrand& s : m_hostStrands) {
            stretch += s.stretch;
            contacts += s.contacts;
        }
        unsigned long long colors = 0;
        for (const RenderVertex& r : m_hostRender) {
            rr += length(r.position);
            thick += r.thickness;
            colors += r.color >> 8;
        }
        std::printf("check pinned %d\n", pinned);
        std::printf("check mean_radius %.3e\n", radius / kVerts);
        std::printf("check tangent_y %.3e\n", tx / kVerts);
        std::printf("check height %.3e\n", hang / kVerts);
        std::printf("check stretch %.2e\n", stretch / kStrands);
        std::printf("check contacts %.2e\n", static_cast<double>(contacts));
        std::printf("check render_radius %.3e\n", rr / kRenderVerts);
        std::printf("check render_thickness %.3e\n", thick / kRenderVerts);
        std::printf("check colors %llu\n", colors);
    }

    void Shutdown()
    {
        cudaFree(m_verts);
        cudaFree(m_strands);
        cudaFree(m_render);
    }

private:
    void BuildGroom()
    {
        uint32_t rng = 0xC0FFEEu;
        auto frand = [&rng]() {
            rng ^= rng << 13;
            rng ^= rng >> 17;
            rng ^= rng << 5;
            return (rng >> 8) * (1.0f / 16777216.0f);
        };
        m_hostVerts.resize(kVerts);
        m_hostStrands.resize(kStrands);
        for (int s = 0; s < kStrands; ++s) {
            const float u = (s % kRootsU + 0.5f) / kRootsU, w = (s / kRootsU + 0.5f) / kRootsV;
            const float phi = 6.2831853f * u;
            const float cosTheta = 0.98f - 1.0f * w;           // from the crown to below the ears
            const float sinTheta = std::sqrt(1.0f - cosTheta * cosTheta);
            const float3 n = make_float3(sinTheta * std::cos(phi), cosTheta, sinTheta * std::sin(phi));
            const float len = 0.6f + 0.3f * frand();
            const float seg = len / (kVertsPerStrand - 1);

            HairStrand& st = m_hostStrands[s];
            st.firstVertex = s * kVertsPerStrand;
            st.vertexCount = kVertsPerStrand;
            st.clump = static_cast<short>(s / 16);
            st.globalStiffness = 0.004f + 0.004f * frand();
            st.localStiffness = 0.02f;
            st.damping = 0.04f;
            st.thickness = 0.002f + 0.001f * frand();
            st.restLength = len;
            st.stretch = 0.0f;
            st.contacts = 0;
            st.color = (static_cast<uint32_t>(s) * 2654435761u) & 0xffffff00u;

            for (int k = 0; k < kVertsPerStrand; ++k) {
                HairVertex& v = m_hostVerts[st.firstVertex + k];
                float3 p = n * (1.0f + seg * k);
                v.restOffset = p;
                v.position = make_float4(p.x, p.y, p.z, k < 2 ? 0.0f : 1.0f);
                v.previous = make_float4(p.x, p.y, p.z, seg);
                v.friction = 0.3f;
                v.tangent = n;
                v.flags = 0u;
            }
        }
    }

    std::vector<HairVertex> m_hostVerts;
    std::vector<HairStrand> m_hostStrands;
    std::vector<RenderVertex> m_hostRender;
    HairVertex* m_verts = nullptr;
    HairStrand* m_strands = nullptr;
    RenderVertex* m_render = nullptr;
    int m_frame = 0;
};

}  // namespace hair

int main()
{
    hair::HairSolver solver;
    solver.Initialize();
    solver.Step();
    if (!solver.Validate()) {
        std::fprintf(stderr, "hair exploded\n");
        return 1;
    }

    const int frames = 80;
    cudaEvent_t begin, end;
    HAIR_CHECK(cudaEventCreate(&begin));
    HAIR_CHECK(cudaEventCreate(&end));
    HAIR_CHECK(cudaEventRecord(begin));
    for (int f = 0; f < frames; ++f) solver.Step();
    HAIR_CHECK(cudaEventRecord(end));
    HAIR_CHECK(cudaEventSynchronize(end));
    float ms = 0.0f;
    HAIR_CHECK(cudaEventElapsedTime(&ms, begin, end));

    solver.Readback();
    solver.PrintChecks();
    std::printf("time_ms %.5f\n", ms / frames);
    HAIR_CHECK(cudaEventDestroy(begin));
    HAIR_CHECK(cudaEventDestroy(end));
    solver.Shutdown();
    return 0;
}
