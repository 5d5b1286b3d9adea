// Satellite image pixels made of bytes only, plus a small table of land classes.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

typedef unsigned char u8;

struct Pixel {              // 12 bytes, alignment 1
    u8 rgb[3];
    u8 nir;
    u8 cls;
    u8 conf;
    u8 cloud;
    u8 shadow;
    u8 snow;
    u8 water;
    u8 qa[2];
};

struct LandClass {          // 36 bytes
    float albedo;
    float emissivity;
    float roughness;
    float season[4];
    int   parent;
    short code;
    u8    urban, forest;
};

#define W 6000
#define H 4000
#define NPIX (W * H)
#define NCLASS 384

#define TRY(e) do { cudaError_t r = (e); if (r) { fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(r)); exit(1); } } while (0)

// two bytes out of twelve
__global__ void ndvi(const Pixel *img, short *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int red = img[i].rgb[0], ir = img[i].nir;
        out[i] = (short)(1000 * (ir - red) / (ir + red + 1));
    }
}

// cls, conf and qa pick an entry of the small table; several of its fields are used
__global__ void radiate(const Pixel *img, const LandClass *table, float *flux, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Pixel *p = &img[i];
    int idx = (p->cls + (p->qa[0] & 1) * 128) % NCLASS;
    const LandClass *c = table + idx;
    float f = c->albedo * 0.7f + c->emissivity * c->season[p->qa[1] & 3];
    if (p->conf < 40) {
        const LandClass *up = table + c->parent;
        f = 0.5f * (f + up->albedo + up->roughness);
    }
    flux[i] = f + 0.1f * c->urban + 0.2f * c->forest;
}

// 2D window on byte fields, read-modify-write of 'shadow' and 'snow' of the own pixel
__global__ void cast_shadows(Pixel *img, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    int me = y * w + x;
    int sum = 0;
    for (int dy = -1; dy <= 1; ++dy) {
        int yy = min(max(y + dy, 0), h - 1);
        for (int dx = -2; dx <= 2; ++dx) {
            int xx = min(max(x + dx, 0), w - 1);
            sum += img[yy * w + xx].cloud;
        }
    }
    u8 s = img[me].shadow;
    img[me].shadow = (u8)((3 * s + sum / 15) >> 2);
    if (sum > 15 * 140) img[me].snow = (u8)(img[me].snow ^ 1);
}

int main()
{
    Pixel *h_img = (Pixel *)malloc(sizeof(Pixel) * (size_t)NPIX);
    LandClass h_tab[NCLASS];
    unsigned x = 777u;
    for (int i = 0; i < NPIX; ++i) {
        x = x * 1664525u + 1013904223u;
        unsigned a = x ^ (x >> 13), b = a * 2654435761u;
        Pixel &p = h_img[i];
        p.rgb[0] = a; p.rgb[1] = a >> 8; p.rgb[2] = a >> 16; p.nir = a >> 24;
        p.cls = b >> 24; p.conf = b >> 16; p.cloud = b >> 8; p.shadow = b;
        p.snow = (a >> 3) & 1; p.water = (b >> 5) & 1;
        p.qa[0] = a >> 11; p.qa[1] = b >> 13;
    }
    memset(h_tab, 0, sizeof h_tab);
    for (int c = 0; c < NCLASS; ++c) {
        h_tab[c].albedo = 0.01f * (c % 90);
        h_tab[c].emissivity = 0.5f + 0.001f * c;
        h_tab[c].roughness = 0.05f * (c % 17);
        for (int s = 0; s < 4; ++s) h_tab[c].season[s] = 0.3f * s + 0.002f * c;
        h_tab[c].parent = c / 3;
        h_tab[c].code = (short)(c * 11);
        h_tab[c].urban = c % 5 == 0;
        h_tab[c].forest = c % 7 == 0;
    }

    Pixel *d_img; LandClass *d_tab; short *d_ndvi; float *d_flux;
    TRY(cudaMalloc(&d_img, sizeof(Pixel) * (size_t)NPIX));
    TRY(cudaMalloc(&d_tab, sizeof(h_tab)));
    TRY(cudaMalloc(&d_ndvi, sizeof(short) * (size_t)NPIX));
    TRY(cudaMalloc(&d_flux, sizeof(float) * (size_t)NPIX));
    TRY(cudaMemcpy(d_img, h_img, sizeof(Pixel) * (size_t)NPIX, cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(d_tab, h_tab, sizeof(h_tab), cudaMemcpyHostToDevice));

    const int B = 256, G = (NPIX + B - 1) / B;
    dim3 b2(32, 8), g2((W + 31) / 32, (H + 7) / 8);
    ndvi<<<G, B>>>(d_img, d_ndvi, NPIX);
    radiate<<<G, B>>>(d_img, d_tab, d_flux, NPIX);
    TRY(cudaDeviceSynchronize());

    cudaEvent_t t0, t1;
    TRY(cudaEventCreate(&t0));
    TRY(cudaEventCreate(&t1));
    TRY(cudaEventRecord(t0));
    for (int rep = 0; rep < 15; ++rep) {
        ndvi<<<G, B>>>(d_img, d_ndvi, NPIX);
        radiate<<<G, B>>>(d_img, d_tab, d_flux, NPIX);
        cast_shadows<<<g2, b2>>>(d_img, W, H);
    }
    TRY(cudaEventRecord(t1));
    TRY(cudaEventSynchronize(t1));
    TRY(cudaGetLastError());
    float ms;
    TRY(cudaEventElapsedTime(&ms, t0, t1));

    short *r1 = (short *)malloc(sizeof(short) * (size_t)NPIX);
    float *r2 = (float *)malloc(sizeof(float) * (size_t)NPIX);
    TRY(cudaMemcpy(r1, d_ndvi, sizeof(short) * (size_t)NPIX, cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(r2, d_flux, sizeof(float) * (size_t)NPIX, cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(h_img, d_img, sizeof(Pixel) * (size_t)NPIX, cudaMemcpyDeviceToHost));
    long long s1 = 0, s3 = 0, s4 = 0; double s2 = 0;
    for (int i = 0; i < NPIX; ++i) {
        s1 += r1[i];
        s2 += r2[i];
        s3 += h_img[i].shadow * (1 + (i & 3)) + h_img[i].snow;
        s4 += h_img[i].rgb[1] + h_img[i].rgb[2] + h_img[i].water + h_img[i].cloud;
    }
    printf("check ndvi %lld\n", s1);
    printf("check flux %.6g\n", s2);
    printf("check shadow %lld\n", s3);
    printf("check untouched %lld\n", s4);
    printf("time_ms %.4f\n", ms);
    free(r1); free(r2); free(h_img);
    cudaFree(d_img); cudaFree(d_tab); cudaFree(d_ndvi); cudaFree(d_flux);
    return 0;
}
