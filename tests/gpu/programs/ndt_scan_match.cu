// NDT scan-to-map registration (x, y, yaw) with motion de-skew.
// Lidar odometry experiments, lab robot "kiwi".
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_SAFE(e) do { cudaError_t r = (e); if (r) { fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(r)); abort(); } } while (0)

struct NdtCell {
    float mean[3];
    float icov[6];      // xx xy xz yy yz zz
    int   n;
    float weight;
};

struct ScanPoint {
    float x, y, z;      // sensor frame
    float intensity;
    float t;            // 0..1 within the sweep
    int   ring;
    float wx, wy, wz;   // map frame
    float score;
};

struct Partial {
    double H[6];        // xx xy xt yy yt tt
    double g[3];
    double score;
    int    used;
};

struct Pose {
    double x, y, yaw;
    double score;
    int    iter, used;
};

struct Params {
    int   nx, ny, nz;
    float res, resz;
    float ox, oy, oz;
    float d1, d2;
    float vx, vyaw;     // motion during the sweep
};
__constant__ Params prm;

__device__ int cellIndex(float x, float y, float z)
{
    int i = (int)floorf((x - prm.ox) / prm.res);
    int j = (int)floorf((y - prm.oy) / prm.res);
    int k = (int)floorf((z - prm.oz) / prm.resz);
    if (i < 0 || j < 0 || k < 0 || i >= prm.nx || j >= prm.ny || k >= prm.nz) return -1;
    return (k * prm.ny + j) * prm.nx + i;
}

__device__ void mulIcov(const NdtCell *c, const float *v, float *out)
{
    out[0] = c->icov[0] * v[0] + c->icov[1] * v[1] + c->icov[2] * v[2];
    out[1] = c->icov[1] * v[0] + c->icov[3] * v[1] + c->icov[4] * v[2];
    out[2] = c->icov[2] * v[0] + c->icov[4] * v[1] + c->icov[5] * v[2];
}

// 1. sensor frame -> map frame with the current pose, undoing the motion of the sweep
__global__ void transformPoints(ScanPoint *pts, int n, const Pose *pose)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    ScanPoint &p = pts[i];
    float yaw = (float)pose->yaw + prm.vyaw * (p.t - 0.5f);
    float s, c;
    sincosf(yaw, &s, &c);
    float px = p.x + prm.vx * (p.t - 0.5f);
    p.wx = c * px - s * p.y + (float)pose->x;
    p.wy = s * px + c * p.y + (float)pose->y;
    p.wz = p.z;
}

// 2. gradient + Gauss-Newton Hessian, one Partial per block
__global__ void accumulate(ScanPoint *pts, int n, const NdtCell *map, const Pose *pose, Partial *parts)
{
    __shared__ double red[10][128];
    double acc[10];
    for (int k = 0; k < 10; k++) acc[k] = 0.0;
    int used = 0;
    float cx = (float)pose->x, cy = (float)pose->y;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        ScanPoint p = pts[i];
        p.score = 0.0f;
        for (int dj = -1; dj <= 1; dj++)
            for (int di = -1; di <= 1; di++) {
                if (di != 0 && dj != 0) continue;        // 5 neighbours
                int ci = cellIndex(p.wx + di * prm.res, p.wy + dj * prm.res, p.wz);
                if (ci < 0) continue;
                const NdtCell *c = &map[ci];
                if (c->n < 5) continue;
                float q[3] = { p.wx - c->mean[0], p.wy - c->mean[1], p.wz - c->mean[2] };
                float Sq[3];
                mulIcov(c, q, Sq);
                float m = q[0] * Sq[0] + q[1] * Sq[1] + q[2] * Sq[2];
                float e = prm.d1 * __expf(-0.5f * prm.d2 * m) * c->weight;
                p.score += e;
                float w = e * prm.d2;
                float jt[3] = { -(p.wy - cy), p.wx - cx, 0.0f };      // d p / d yaw
                float St[3];
                mulIcov(c, jt, St);
                acc[0] += w * c->icov[0];
                acc[1] += w * c->icov[1];
                acc[2] += w * St[0];
                acc[3] += w * c->icov[3];
                acc[4] += w * St[1];
                acc[5] += w * (jt[0] * St[0] + jt[1] * St[1]);
                acc[6] += w * Sq[0];
                acc[7] += w * Sq[1];
                acc[8] += w * (jt[0] * Sq[0] + jt[1] * Sq[1]);
                acc[9] += e;
                used++;
            }
        pts[i].score = p.score;
    }

    int tid = threadIdx.x;
    for (int k = 0; k < 10; k++) red[k][tid] = acc[k];
    int total = __syncthreads_count(used > 0);
    for (int h = 64; h > 0; h >>= 1) {
        if (tid < h)
            for (int k = 0; k < 10; k++) red[k][tid] += red[k][tid + h];
        __syncthreads();
    }
    if (tid < 6) parts[blockIdx.x].H[tid] = red[tid][0];
    else if (tid < 9) parts[blockIdx.x].g[tid - 6] = red[tid][0];
    else if (tid == 9) {
        parts[blockIdx.x].score = red[9][0];
        parts[blockIdx.x].used = total;
    }
}

// 3. sum of the partials and damped 3x3 solve
__global__ void solveStep(const Partial *parts, int nParts, Pose *pose)
{
    __shared__ Partial sum[32];
    Partial s;
    for (int k = 0; k < 6; k++) s.H[k] = 0.0;
    s.g[0] = s.g[1] = s.g[2] = 0.0;
    s.score = 0.0;
    s.used = 0;
    for (int i = threadIdx.x; i < nParts; i += 32) {
        const Partial &p = parts[i];
        for (int k = 0; k < 6; k++) s.H[k] += p.H[k];
        for (int k = 0; k < 3; k++) s.g[k] += p.g[k];
        s.score += p.score;
        s.used += p.used;
    }
    sum[threadIdx.x] = s;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int j = 1; j < 32; j++) {
        for (int k = 0; k < 6; k++) s.H[k] += sum[j].H[k];
        for (int k = 0; k < 3; k++) s.g[k] += sum[j].g[k];
        s.score += sum[j].score;
        s.used += sum[j].used;
    }
    double a = s.H[0] * 1.05 + 1e-6, b = s.H[1], c = s.H[2], d = s.H[3] * 1.05 + 1e-6, e = s.H[4], f = s.H[5] * 1.05 + 1e-6;
    double A = d * f - e * e, B = c * e - b * f, C = b * e - c * d;
    double det = a * A + b * B + c * C;
    if (fabs(det) < 1e-12) return;
    double D = a * f - c * c, E = b * c - a * e, F = a * d - b * b;
    Pose next = *pose;
    next.x   -= (A * s.g[0] + B * s.g[1] + C * s.g[2]) / det;
    next.y   -= (B * s.g[0] + D * s.g[1] + E * s.g[2]) / det;
    next.yaw -= (C * s.g[0] + E * s.g[1] + F * s.g[2]) / det;
    next.score = s.score;
    next.used = s.used;
    next.iter++;
    *pose = next;
}

static unsigned rs = 4711;
static float uni() { rs ^= rs << 13; rs ^= rs >> 17; rs ^= rs << 5; return (rs >> 8) / 16777216.0f; }
static float gauss() { return (uni() + uni() + uni() + uni() - 2.0f) * 1.732f; }

int main()
{
    Params h;
    h.nx = h.ny = 192; h.nz = 6; h.res = 0.8f; h.resz = 0.8f;
    h.ox = h.oy = -76.8f; h.oz = -0.4f; h.d1 = 1.0f; h.d2 = 0.6f; h.vx = 0.6f; h.vyaw = 0.03f;
    const int nCells = h.nx * h.ny * h.nz, n = 1000000, iters = 25;
    std::vector<NdtCell> map(nCells);

    // The world: rectangular blocks of buildings every 24 m, 14 m wide -> walls are the boundaries.
    // Cells crossed by a wall get a flat Gaussian, floor cells a horizontal one.
    auto wallDist = [](float c) { float m = fmodf(c + 960.0f, 24.0f) - 12.0f; return fabsf(m) - 7.0f; };
    for (int k = 0; k < h.nz; k++)
        for (int j = 0; j < h.ny; j++)
            for (int i = 0; i < h.nx; i++) {
                NdtCell &c = map[(k * h.ny + j) * h.nx + i];
                float x = h.ox + (i + 0.5f) * h.res, y = h.oy + (j + 0.5f) * h.res, z = h.oz + (k + 0.5f) * h.resz;
                float wx = wallDist(x), wy = wallDist(y);
                float sgx = fmodf(x + 960.0f, 24.0f) > 12.0f ? 1.0f : -1.0f, sgy = fmodf(y + 960.0f, 24.0f) > 12.0f ? 1.0f : -1.0f;
                c.mean[0] = x; c.mean[1] = y; c.mean[2] = z;
                for (float &v : c.icov) v = 0.0f;
                c.n = 0; c.weight = 1.0f;
                if (fabsf(wx) < 0.5f * h.res && wy < 0.5f * h.res) {            // wall with normal x
                    c.mean[0] = x - sgx * wx;
                    c.icov[0] = 120.0f; c.icov[3] = 6.0f; c.icov[5] = 6.0f;
                    c.n = 40;
                } else if (fabsf(wy) < 0.5f * h.res && wx < 0.5f * h.res) {     // wall with normal y
                    c.mean[1] = y - sgy * wy;
                    c.icov[0] = 6.0f; c.icov[3] = 120.0f; c.icov[5] = 6.0f;
                    c.n = 40;
                } else if (k == 0) {
                    c.mean[2] = 0.0f;
                    c.icov[0] = 3.0f; c.icov[3] = 3.0f; c.icov[5] = 200.0f;
                    c.n = 20; c.weight = 0.02f;
                }
                c.icov[1] = 0.02f * c.icov[0] * (uni() - 0.5f);
            }

    // The scan: 64 rings, azimuth sweep; true pose (0.55, -0.35, 0.035)
    const double tx = 0.55, ty = -0.35, tyaw = 0.035;
    std::vector<ScanPoint> scan(n);
    float dx = 0.0f, dy = 0.0f, range = 0.0f;
    for (int q = 0; q < n; q++) {
        ScanPoint &p = scan[q];
        p.ring = q % 64;
        p.t = (float)q / n;
        float el = -0.06f + 0.0022f * p.ring;
        if (p.ring == 0) {      // one column of the scanner = one azimuth: coarse march, then bisect
            float az = 6.2831853f * 8.0f * p.t, r = 0.5f;
            dx = cosf(az); dy = sinf(az);
            auto inside = [&](float d) { return wallDist((float)tx + d * dx) < 0.0f && wallDist((float)ty + d * dy) < 0.0f; };
            while (r < 60.0f && !inside(r)) r += 0.2f;
            float lo = r - 0.2f;
            range = r;
            for (int b = 0; b < 5; b++) {
                float m = 0.5f * (lo + range);
                if (inside(m)) range = m; else lo = m;
            }
        }
        float hi = range;
        float z = 1.5f + hi * el;
        if (z < 0.0f) { hi = -1.5f / el; z = 0.0f; }
        float wx = hi * dx + 0.02f * gauss(), wy = hi * dy + 0.02f * gauss();
        float yaw = (float)tyaw + h.vyaw * (p.t - 0.5f);
        float c = cosf(yaw), s = sinf(yaw);
        p.x = c * wx + s * wy - h.vx * (p.t - 0.5f);
        p.y = -s * wx + c * wy;
        p.z = z + 0.01f * gauss();
        p.intensity = uni();
        p.wx = p.wy = p.wz = p.score = 0.0f;
    }

    const int blocks = 528;
    Pose pose0; pose0.x = pose0.y = pose0.yaw = pose0.score = 0.0; pose0.iter = pose0.used = 0;
    NdtCell *dMap; ScanPoint *dScan; Partial *dPart; Pose *dPose;
    CUDA_SAFE(cudaMalloc(&dMap, nCells * sizeof(NdtCell)));
    CUDA_SAFE(cudaMalloc(&dScan, n * sizeof(ScanPoint)));
    CUDA_SAFE(cudaMalloc(&dPart, blocks * sizeof(Partial)));
    CUDA_SAFE(cudaMalloc(&dPose, sizeof(Pose)));
    CUDA_SAFE(cudaMemcpy(dMap, map.data(), nCells * sizeof(NdtCell), cudaMemcpyHostToDevice));
    CUDA_SAFE(cudaMemcpy(dScan, scan.data(), n * sizeof(ScanPoint), cudaMemcpyHostToDevice));
    CUDA_SAFE(cudaMemcpy(dPose, &pose0, sizeof(Pose), cudaMemcpyHostToDevice));
    CUDA_SAFE(cudaMemcpyToSymbol(prm, &h, sizeof(h)));

    cudaEvent_t a, b;
    CUDA_SAFE(cudaEventCreate(&a)); CUDA_SAFE(cudaEventCreate(&b));
    for (int it = 0; it <= iters; it++) {
        if (it == 1) CUDA_SAFE(cudaEventRecord(a));
        transformPoints<<<(n + 255) / 256, 256>>>(dScan, n, dPose);
        accumulate<<<blocks, 128>>>(dScan, n, dMap, dPose, dPart);
        solveStep<<<1, 32>>>(dPart, blocks, dPose);
    }
    CUDA_SAFE(cudaEventRecord(b));
    CUDA_SAFE(cudaGetLastError());
    CUDA_SAFE(cudaEventSynchronize(b));
    float ms; CUDA_SAFE(cudaEventElapsedTime(&ms, a, b));

    Pose out;
    CUDA_SAFE(cudaMemcpy(&out, dPose, sizeof(Pose), cudaMemcpyDeviceToHost));
    CUDA_SAFE(cudaMemcpy(scan.data(), dScan, n * sizeof(ScanPoint), cudaMemcpyDeviceToHost));
    double sc = 0, wx2 = 0, wy2 = 0;
    for (const ScanPoint &p : scan) { sc += p.score; wx2 += p.wx * p.wx; wy2 += p.wy * p.wy; }
    printf("check pose_x %.6e\ncheck pose_y %.6e\ncheck pose_yaw %.6e\n", out.x, out.y, out.yaw);
    printf("check pose_score %.6e\ncheck used %d\ncheck iter %d\n", out.score, out.used, out.iter);
    printf("check point_score %.6e\ncheck wx2 %.6e\ncheck wy2 %.6e\n", sc, wx2, wy2);
    printf("time_ms %.4f\n", ms);
    cudaFree(dMap); cudaFree(dScan); cudaFree(dPart); cudaFree(dPose);
    return 0;
}
