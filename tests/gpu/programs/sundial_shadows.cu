// Shadows on a plaza of sundials, as a relief image of 8-byte pixels: the sun
// sweeps along rows (one thread per row) and along columns (one thread per
// column), shadows are softened, and the picture is turned with the hour.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define SAFE(x)                                                               \
    do {                                                                      \
        cudaError_t e_ = (x);                                                 \
        if (e_ != cudaSuccess) {                                              \
            fprintf(stderr, "cuda failure %d in line %d\n", (int)e_, __LINE__); \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

struct Pixel {
    unsigned char r, g, b;
    unsigned char lit;
    short height;
    short slope;
};

#define W 2048
#define H 6144
#define HOURS 12

// morning: the sun comes along x; a thread carries the horizon through its row
__global__ void sweep_rows(Pixel* plaza, int drop, int* shaded)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= H) return;
    int horizon = -1;
    int dark = 0;
    for (int x = 0; x < W; ++x) {
        int p = y * W + x;
        int h = plaza[p].height;
        if (h >= horizon) {
            horizon = h;
            plaza[p].lit = 255;
        } else {
            plaza[p].lit = (unsigned char)((horizon - h > 12) ? 20 : 90);
            ++dark;
        }
        horizon -= drop;
    }
    shaded[y] += dark;
}

// noon: the same along y; neighbouring threads have neighbouring columns
__global__ void sweep_columns(Pixel* plaza, int drop)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= W) return;
    int horizon = -1;
    for (int y = 0; y < H; ++y) {
        int p = y * W + x;
        int h = plaza[p].height + plaza[p].slope / 16;
        if (h >= horizon) horizon = h;
        else plaza[p].lit = (unsigned char)(plaza[p].lit / 2);
        horizon -= drop;
    }
}

__global__ void soften(const Pixel* plaza, unsigned char* soft)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H) return;
    int sum = 0, weight = 0;
    int here = plaza[y * W + x].height;
    for (int dy = -2; dy <= 2; ++dy)
        for (int dx = -2; dx <= 2; ++dx) {
            int u = min(max(x + dx, 0), W - 1);
            int v = min(max(y + dy, 0), H - 1);
            int q = v * W + u;
            int d = plaza[q].height - here;
            if (d > 20 || d < -20) continue;
            int k = 5 - abs(dx) - abs(dy);
            if (k < 1) k = 1;
            sum += k * plaza[q].lit;
            weight += k;
        }
    soft[y * W + x] = (unsigned char)(sum / weight);
}

// the picture is drawn turned by the hour angle, nearest pixel
__global__ void turn(const Pixel* plaza, const unsigned char* soft, float* drawn, float ca, float sa)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H / 2) return;
    float fx = (float)(x - W / 2);
    float fy = (float)(y - H / 4);
    int u = (int)(ca * fx - sa * fy) + W / 2;
    int v = (int)(sa * fx + ca * fy) + H / 2;
    float out = 0.0f;
    if (u >= 0 && u < W && v >= 0 && v < H) {
        Pixel p = plaza[v * W + u];
        float lum = 0.3f * p.r + 0.59f * p.g + 0.11f * p.b;
        out = lum * (float)soft[v * W + u] * (1.0f / 255.0f);
    }
    drawn[y * W + x] += out;
}

static void hour(Pixel* plaza, unsigned char* soft, float* drawn, int* shaded, int k)
{
    dim3 t(32, 8);
    sweep_rows<<<(H + 63) / 64, 64>>>(plaza, 1 + k % 3, shaded);
    sweep_columns<<<(W + 31) / 32, 32>>>(plaza, 1 + k % 2);
    soften<<<dim3(W / 32, H / 8), t>>>(plaza, soft);
    float angle = 0.2618f * (float)k;
    turn<<<dim3(W / 32, H / 16), t>>>(plaza, soft, drawn, cosf(angle), sinf(angle));
}

int main()
{
    Pixel* plaza;
    unsigned char* soft;
    float* drawn;
    int* shaded;
    size_t n = (size_t)W * H;
    SAFE(cudaMallocManaged(&plaza, n * sizeof(Pixel)));
    SAFE(cudaMalloc(&soft, n));
    SAFE(cudaMalloc(&drawn, n / 2 * sizeof(float)));
    SAFE(cudaMallocManaged(&shaded, H * sizeof(int)));
    SAFE(cudaMemset(drawn, 0, n / 2 * sizeof(float)));
    unsigned s = 4711u;
    for (int y = 0; y < H; ++y) {
        shaded[y] = 0;
        for (int x = 0; x < W; ++x) {
            size_t p = (size_t)y * W + x;
            s = s * 1103515245u + 12345u;
            // dials on a lattice with thin gnomons, on gently rough ground
            int gx = x % 128 - 64, gy = y % 128 - 64;
            int d2 = gx * gx + gy * gy;
            int h = (int)((s >> 20) & 7u);
            if (d2 < 1600) h += 30;
            if (gx > -3 && gx < 3 && gy > -30 && gy < 30) h += 60 + gy;
            plaza[p].height = (short)h;
            plaza[p].slope = (short)((s >> 12) & 63u);
            plaza[p].r = (unsigned char)(s >> 24);
            plaza[p].g = (unsigned char)(x & 255);
            plaza[p].b = (unsigned char)((x ^ y) & 255);
            plaza[p].lit = 0;
        }
    }

    hour(plaza, soft, drawn, shaded, 0);
    SAFE(cudaGetLastError());
    SAFE(cudaDeviceSynchronize());

    cudaEvent_t e0, e1;
    SAFE(cudaEventCreate(&e0));
    SAFE(cudaEventCreate(&e1));
    SAFE(cudaEventRecord(e0));
    for (int k = 1; k <= HOURS; ++k) hour(plaza, soft, drawn, shaded, k);
    SAFE(cudaEventRecord(e1));
    SAFE(cudaEventSynchronize(e1));
    SAFE(cudaDeviceSynchronize());
    float ms = 0;
    SAFE(cudaEventElapsedTime(&ms, e0, e1));

    float* picture = new float[n / 2];
    unsigned char* smooth = new unsigned char[n];
    SAFE(cudaMemcpy(picture, drawn, n / 2 * sizeof(float), cudaMemcpyDeviceToHost));
    SAFE(cudaMemcpy(smooth, soft, n, cudaMemcpyDeviceToHost));
    double lum = 0;
    long long lit = 0, sm = 0, dark = 0;
    for (size_t p = 0; p < n / 2; ++p) lum += picture[p];
    for (size_t p = 0; p < n; ++p) {
        lit += plaza[p].lit;
        sm += smooth[p];
    }
    for (int y = 0; y < H; ++y) dark += (long long)shaded[y] * (y % 5 + 1);
    printf("check drawn %.7g\n", lum);
    printf("check lit %lld\n", lit);
    printf("check soft %lld\n", sm);
    printf("check dark %lld\n", dark);
    printf("time_ms %.4f\n", ms);
    delete[] picture;
    delete[] smooth;
    SAFE(cudaFree(plaza));
    SAFE(cudaFree(soft));
    SAFE(cudaFree(drawn));
    SAFE(cudaFree(shaded));
    return 0;
}
