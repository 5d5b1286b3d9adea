/* Stereo visual odometry: sub-pixel feature refinement and normal equations.
 *
 * For each frame:
 *   1. Scharr gradients of the left and the right image
 *   2. template patch extraction around every feature in the left image
 *   3. 1-D Lucas-Kanade refinement of the disparity along the epipolar line
 *   4. triangulation + 6-DoF Jacobian row for every feature
 *   5. robust normal equations (J^T W J, J^T W r) reduced per block
 *
 * The stereo pair is synthetic (procedural texture on a slanted ground plane).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cuda_runtime.h>

#define W 960
#define H 540
#define NFEAT_X 320
#define NFEAT_Y 200
#define NFEAT (NFEAT_X * NFEAT_Y)
#define TILE_X 32
#define TILE_Y 8
#define PATCH_R 2
#define PATCH_N 25
#define NACC 28            /* 21 upper triangle + 6 rhs + cost */
#define RED_THREADS 128
#define NFRAMES 50

#define CHECK(e) check_cuda((e), #e, __LINE__)
static void check_cuda(cudaError_t e, const char *what, int line)
{
    if (e != cudaSuccess) {
        printf("%s failed at line %d: %s\n", what, line, cudaGetErrorString(e));
        exit(1);
    }
}

typedef struct {
    unsigned char gray;
    unsigned char border;
    short gx;
    short gy;
    unsigned short mag;
} Pixel;

typedef struct {
    float u, v;             /* left image position */
    float disp0;            /* prior from the matcher */
    float disp;             /* refined disparity */
    float disp_var;
    float residual;
    float X[3];             /* camera frame position */
    float mean;
    int   id;
    short age;
    unsigned char status;
    unsigned char iters;
    unsigned char patch[28];
} Feature;

typedef struct {
    float J[6];
    float r;
    float w;
} JacRow;

typedef struct {
    float fx, fy, cx, cy, baseline;
    float rot[3];           /* predicted small rotation */
    float trans[3];
} Rig;

/* ------------------------------------------------------------------------ */

__global__ void gradient_kernel(Pixel *img)
{
    __shared__ unsigned char tile[TILE_Y + 2][TILE_X + 2];
    const int x0 = blockIdx.x * TILE_X, y0 = blockIdx.y * TILE_Y;
    const int tid = threadIdx.y * TILE_X + threadIdx.x;

    for (int k = tid; k < (TILE_X + 2) * (TILE_Y + 2); k += TILE_X * TILE_Y) {
        int ty = k / (TILE_X + 2), tx = k % (TILE_X + 2);
        int gx = min(max(x0 + tx - 1, 0), W - 1);
        int gy = min(max(y0 + ty - 1, 0), H - 1);
        tile[ty][tx] = img[gy * W + gx].gray;
    }
    __syncthreads();

    const int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
    if (x >= W || y >= H) return;
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int sx = 3 * (tile[ty - 1][tx + 1] - tile[ty - 1][tx - 1]) +
             10 * (tile[ty][tx + 1] - tile[ty][tx - 1]) +
             3 * (tile[ty + 1][tx + 1] - tile[ty + 1][tx - 1]);
    int sy = 3 * (tile[ty + 1][tx - 1] - tile[ty - 1][tx - 1]) +
             10 * (tile[ty + 1][tx] - tile[ty - 1][tx]) +
             3 * (tile[ty + 1][tx + 1] - tile[ty - 1][tx + 1]);
    Pixel *p = &img[y * W + x];
    p->gx = (short)sx;
    p->gy = (short)sy;
    p->mag = (unsigned short)(abs(sx) + abs(sy));
    p->border = (x < 4 || y < 4 || x >= W - 4 || y >= H - 4);
}

__device__ static float bilinear_gray(const Pixel *img, float x, float y)
{
    int ix = (int)floorf(x), iy = (int)floorf(y);
    ix = min(max(ix, 0), W - 2);
    iy = min(max(iy, 0), H - 2);
    float ax = x - ix, ay = y - iy;
    const Pixel *p = img + iy * W + ix;
    float top = p[0].gray + ax * (p[1].gray - p[0].gray);
    float bot = p[W].gray + ax * (p[W + 1].gray - p[W].gray);
    return top + ay * (bot - top);
}

__device__ static float bilinear_gx(const Pixel *img, float x, float y)
{
    int ix = (int)floorf(x), iy = (int)floorf(y);
    ix = min(max(ix, 0), W - 2);
    iy = min(max(iy, 0), H - 2);
    float ax = x - ix, ay = y - iy;
    const Pixel *p = img + iy * W + ix;
    float top = p[0].gx + ax * (p[1].gx - p[0].gx);
    float bot = p[W].gx + ax * (p[W + 1].gx - p[W].gx);
    return (top + ay * (bot - top)) * (1.0f / 32.0f);
}

__global__ void extract_patches(const Pixel *left, Feature *feat, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Feature *f = feat + i;
    int cx = (int)(f->u + 0.5f), cy = (int)(f->v + 0.5f);
    int sum = 0, mag = 0, k = 0;
    for (int dy = -PATCH_R; dy <= PATCH_R; ++dy)
        for (int dx = -PATCH_R; dx <= PATCH_R; ++dx) {
            const Pixel *p = &left[(cy + dy) * W + cx + dx];
            unsigned char g = p->gray;
            f->patch[k++] = g;
            sum += g;
            mag += p->mag;
        }
    f->mean = (float)sum / PATCH_N;
    f->status = (!left[cy * W + cx].border && mag > 200 * PATCH_N / 4) ? 1 : 0;
    f->age = (short)(f->age + 1);
}

__global__ void refine_disparity(const Pixel *right, Feature *feat, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Feature *f = feat + i;
    float d = f->disp0;
    f->iters = 0;
    if (!f->status) {
        f->disp = d;
        f->disp_var = 4.0f;
        f->residual = 0.0f;
        return;
    }
    const float cu = floorf(f->u + 0.5f), cv = floorf(f->v + 0.5f);
    const float mean = f->mean;
    float hess = 0.0f, err = 0.0f;
    for (int it = 0; it < 6; ++it) {
        float xr = cu - d, b = 0.0f, rm = 0.0f, gm = 0.0f;
        float val[PATCH_N], grd[PATCH_N];
        int k = 0;
        for (int dy = -PATCH_R; dy <= PATCH_R; ++dy)
            for (int dx = -PATCH_R; dx <= PATCH_R; ++dx, ++k) {
                val[k] = bilinear_gray(right, xr + dx, cv + dy);
                grd[k] = bilinear_gx(right, xr + dx, cv + dy);
                rm += val[k];
                gm += grd[k];
            }
        rm *= 1.0f / PATCH_N;
        gm *= 1.0f / PATCH_N;
        hess = 4.0f;
        err = 0.0f;
        for (k = 0; k < PATCH_N; ++k) {
            float e = (val[k] - rm) - ((float)f->patch[k] - mean);
            float g = grd[k] - gm;
            hess += g * g;
            b += g * e;
            err += e * e;
        }
        /* moving d by +1 shifts the sampling position by -1 */
        d += fminf(fmaxf(b / hess, -1.0f), 1.0f);
        f->iters++;
    }
    f->disp = fminf(fmaxf(d, 0.5f), 64.0f);
    f->disp_var = 1.0f / hess + 0.01f;
    f->residual = sqrtf(err / PATCH_N);
}

__global__ void build_rows(Feature *feat, JacRow *rows, Rig rig, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Feature *f = feat + i;
    float z = rig.fx * rig.baseline / f->disp;
    float x = (f->u - rig.cx) / rig.fx * z;
    float y = (f->v - rig.cy) / rig.fy * z;
    f->X[0] = x;
    f->X[1] = y;
    f->X[2] = z;

    /* predicted position after the small motion, vertical re-projection row */
    float px = x + rig.rot[1] * z - rig.rot[2] * y + rig.trans[0];
    float py = y + rig.rot[2] * x - rig.rot[0] * z + rig.trans[1];
    float pz = z + rig.rot[0] * y - rig.rot[1] * x + rig.trans[2];
    float iz = 1.0f / fmaxf(pz, 0.1f);
    float du = rig.fx * px * iz + rig.cx - f->u;
    float dv = rig.fy * py * iz + rig.cy - f->v;
    float r = 0.6f * du + 0.8f * dv;

    JacRow row;
    float ax = 0.6f * rig.fx * iz, ay = 0.8f * rig.fy * iz;
    float az = -(ax * px + ay * py) * iz;
    row.J[0] = ax;
    row.J[1] = ay;
    row.J[2] = az;
    row.J[3] = -ay * z + az * y;
    row.J[4] = ax * z - az * x;
    row.J[5] = -ax * y + ay * x;
    row.r = r;
    float huber = 1.5f;
    float a = fabsf(r);
    row.w = f->status ? (a < huber ? 1.0f : huber / a) / (1.0f + f->disp_var + 0.05f * f->residual) : 0.0f;
    rows[i] = row;
}

__global__ void normal_equations(const JacRow *rows, int n, float *partial)
{
    __shared__ float sh[RED_THREADS];
    float acc[NACC];
    for (int k = 0; k < NACC; ++k) acc[k] = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float w = rows[i].w;
        const float r = rows[i].r;
        float J[6];
#pragma unroll
        for (int a = 0; a < 6; ++a) J[a] = rows[i].J[a];
        int k = 0;
#pragma unroll
        for (int a = 0; a < 6; ++a)
#pragma unroll
            for (int b = a; b < 6; ++b) acc[k++] += w * J[a] * J[b];
#pragma unroll
        for (int a = 0; a < 6; ++a) acc[21 + a] += w * J[a] * r;
        acc[27] += w * r * r;
    }
#pragma unroll
    for (int k = 0; k < NACC; ++k) {
        sh[threadIdx.x] = acc[k];
        __syncthreads();
        for (int s = RED_THREADS / 2; s > 0; s >>= 1) {
            if (threadIdx.x < s) sh[threadIdx.x] += sh[threadIdx.x + s];
            __syncthreads();
        }
        if (threadIdx.x == 0) partial[blockIdx.x * NACC + k] = sh[0];
        __syncthreads();
    }
}

/* ------------------------------------------------------------------------ */

static float texture_at(float x, float y)
{
    float v = 0.0f;
    v += 30.0f * sinf(0.31f * x + 0.11f * y);
    v += 25.0f * sinf(0.17f * x - 0.23f * y + 1.3f);
    v += 20.0f * sinf(0.53f * x + 0.41f * y + 0.7f);
    v += 15.0f * cosf(0.07f * x * (1.0f + 0.0002f * y));
    return 128.0f + v;
}

static float true_disparity(float y)
{
    return 6.0f + 20.0f * y / H;
}

static void synthesize(Pixel *left, Pixel *right)
{
    int x, y;
    for (y = 0; y < H; ++y) {
        float d = true_disparity((float)y);
        for (x = 0; x < W; ++x) {
            left[y * W + x].gray = (unsigned char)(texture_at((float)x, (float)y) + 0.5f);
            right[y * W + x].gray = (unsigned char)(texture_at((float)x + d, (float)y) + 0.5f);
        }
    }
}

static void run_frame(Pixel *dl, Pixel *dr, Feature *df, JacRow *drows, float *dpart, int nblk, Rig rig)
{
    dim3 tb(TILE_X, TILE_Y);
    dim3 tg((W + TILE_X - 1) / TILE_X, (H + TILE_Y - 1) / TILE_Y);
    int g = (NFEAT + 127) / 128;
    gradient_kernel<<<tg, tb>>>(dl);
    gradient_kernel<<<tg, tb>>>(dr);
    extract_patches<<<g, 128>>>(dl, df, NFEAT);
    refine_disparity<<<g, 128>>>(dr, df, NFEAT);
    build_rows<<<g, 128>>>(df, drows, rig, NFEAT);
    normal_equations<<<nblk, RED_THREADS>>>(drows, NFEAT, dpart);
}

int main(void)
{
    const int nblk = 128;
    Pixel *left = (Pixel *)calloc(W * H, sizeof(Pixel));
    Pixel *right = (Pixel *)calloc(W * H, sizeof(Pixel));
    Feature *feat = (Feature *)calloc(NFEAT, sizeof(Feature));
    float *part = (float *)malloc(nblk * NACC * sizeof(float));
    if (!left || !right || !feat || !part) {
        printf("out of host memory\n");
        return 1;
    }

    synthesize(left, right);
    unsigned int seed = 12345u;
    for (int i = 0; i < NFEAT; ++i) {
        float jit[3];
        for (int k = 0; k < 3; ++k) {
            seed = seed * 1664525u + 1013904223u;
            jit[k] = (float)(seed >> 8) / 16777216.0f - 0.5f;
        }
        int ix = i % NFEAT_X, iy = i / NFEAT_X;
        feat[i].u = 40.0f + ix * ((float)(W - 60) / NFEAT_X) + jit[0];
        feat[i].v = 10.0f + iy * ((float)(H - 20) / NFEAT_Y) + jit[1];
        feat[i].disp0 = true_disparity(feat[i].v) + 1.2f * jit[2];
        feat[i].id = i;
    }

    Rig rig;
    rig.fx = rig.fy = 720.0f;
    rig.cx = W / 2.0f;
    rig.cy = H / 2.0f;
    rig.baseline = 0.54f;
    rig.rot[0] = 0.002f;
    rig.rot[1] = -0.004f;
    rig.rot[2] = 0.001f;
    rig.trans[0] = 0.02f;
    rig.trans[1] = -0.01f;
    rig.trans[2] = -0.30f;

    Pixel *dl, *dr;
    Feature *df;
    JacRow *drows;
    float *dpart;
    CHECK(cudaMalloc((void **)&dl, W * H * sizeof(Pixel)));
    CHECK(cudaMalloc((void **)&dr, W * H * sizeof(Pixel)));
    CHECK(cudaMalloc((void **)&df, NFEAT * sizeof(Feature)));
    CHECK(cudaMalloc((void **)&drows, NFEAT * sizeof(JacRow)));
    CHECK(cudaMalloc((void **)&dpart, nblk * NACC * sizeof(float)));
    CHECK(cudaMemcpy(dl, left, W * H * sizeof(Pixel), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dr, right, W * H * sizeof(Pixel), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(df, feat, NFEAT * sizeof(Feature), cudaMemcpyHostToDevice));

    run_frame(dl, dr, df, drows, dpart, nblk, rig);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventRecord(start, 0));
    for (int f = 0; f < NFRAMES; ++f)
        run_frame(dl, dr, df, drows, dpart, nblk, rig);
    CHECK(cudaEventRecord(stop, 0));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaGetLastError());
    float ms;
    CHECK(cudaEventElapsedTime(&ms, start, stop));

    CHECK(cudaMemcpy(left, dl, W * H * sizeof(Pixel), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(right, dr, W * H * sizeof(Pixel), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(feat, df, NFEAT * sizeof(Feature), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(part, dpart, nblk * NACC * sizeof(float), cudaMemcpyDeviceToHost));

    long long gsum = 0;
    for (int i = 0; i < W * H; ++i)
        gsum += left[i].mag + 2 * abs(right[i].gx) + 3 * abs(right[i].gy) + left[i].border;

    double acc[NACC];
    memset(acc, 0, sizeof(acc));
    for (int b = 0; b < nblk; ++b)
        for (int k = 0; k < NACC; ++k) acc[k] += part[b * NACC + k];

    int tracked = 0;
    long long patchsum = 0, ages = 0;
    double disp = 0.0, err = 0.0, depth = 0.0;
    for (int i = 0; i < NFEAT; ++i) {
        ages += feat[i].age;
        if (!feat[i].status) continue;
        ++tracked;
        for (int k = 0; k < PATCH_N; ++k) patchsum += feat[i].patch[k];
        disp += feat[i].disp;
        depth += feat[i].X[2];
        err += fabs(feat[i].disp - true_disparity(floorf(feat[i].v + 0.5f)));
    }
    printf("check gradient_sum %lld\n", gsum);
    printf("check tracked %d\n", tracked);
    printf("check patch_sum %lld\n", patchsum);
    printf("check ages %lld\n", ages);
    printf("check mean_disparity %.3e\n", disp / tracked);
    printf("check mean_depth %.3e\n", depth / tracked);
    printf("check mean_abs_error %.2e\n", err / tracked);
    printf("check trace %.3e\n", acc[0] + acc[6] + acc[11] + acc[15] + acc[18] + acc[20]);
    printf("check cost %.3e\n", acc[27]);
    printf("time_ms %.5f\n", ms / NFRAMES);

    cudaFree(dl);
    cudaFree(dr);
    cudaFree(df);
    cudaFree(drows);
    cudaFree(dpart);
    free(left);
    free(right);
    free(feat);
    free(part);
    return 0;
}
