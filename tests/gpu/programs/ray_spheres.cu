// Small Whitted-style ray caster: every thread follows one camera ray (plus
// a shadow ray and one mirror bounce) through a flat table of spheres.
//   usage: ray_spheres [num_spheres]
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_CHECK(call)                                                      \
    do {                                                                      \
        cudaError_t err_ = (call);                                            \
        if (err_ != cudaSuccess) {                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                \
                    cudaGetErrorString(err_));                                \
            exit(EXIT_FAILURE);                                               \
        }                                                                     \
    } while (0)

constexpr int WIDTH = 1280;
constexpr int HEIGHT = 720;
constexpr int STEPS = 20;
constexpr int MAT_HIDDEN = 3;
constexpr int MAT_MIRROR = 1;

struct Sphere {
    float3 center;
    float radius;
    float3 albedo;
    float specular;
    float emission;
    int material;
};

struct Pixel { // 0..1
    float r, g, b;
    int objectId;
};

__device__ inline float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__device__ inline float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__device__ inline float3 operator*(float3 a, float s) { return make_float3(a.x * s, a.y * s, a.z * s); }
__device__ inline float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ inline float3 normalize(float3 a) { return a * rsqrtf(dot(a, a)); }

__device__ int closestHit(const Sphere *spheres, int n, float3 org, float3 dir, float &tHit)
{
    int hit = -1;
    float tBest = 1e30f;
    for (int i = 0; i < n; i++) {
        float3 oc = org - spheres[i].center;
        float b = dot(oc, dir);
        float c = dot(oc, oc) - spheres[i].radius * spheres[i].radius;
        float disc = b * b - c;
        if (disc > 0.0f) {
            float t = -b - sqrtf(disc);
            if (t > 1e-3f && t < tBest && spheres[i].material != MAT_HIDDEN) {
                tBest = t;
                hit = i;
            }
        }
    }
    tHit = tBest;
    return hit;
}

__device__ bool occluded(const Sphere *spheres, int n, float3 org, float3 dir, float tMax)
{
    for (int i = 0; i < n; i++) {
        const Sphere &s = spheres[i];
        float3 oc = org - s.center;
        float b = dot(oc, dir);
        float disc = b * b - dot(oc, oc) + s.radius * s.radius;
        if (disc > 0.0f) {
            float t = -b - sqrtf(disc);
            if (t > 1e-3f && t < tMax && s.emission == 0.0f)
                return true;
        }
    }
    return false;
}

__global__ void render(const Sphere *__restrict__ spheres, int n, Pixel *image, int w, int h, float3 light)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;

    float3 org = make_float3(0.0f, 0.0f, -30.0f);
    float3 dir = normalize(make_float3((x + 0.5f - 0.5f * w) / h, (y + 0.5f - 0.5f * h) / h, 1.0f));
    float3 color = make_float3(0.0f, 0.0f, 0.0f);
    float weight = 1.0f;
    int firstId = -1;

    for (int bounce = 0; bounce < 2; bounce++) {
        float t;
        int id = closestHit(spheres, n, org, dir, t);
        if (bounce == 0) firstId = id;
        if (id < 0) {
            color = color + make_float3(0.2f, 0.3f, 0.5f) * (weight * (0.5f + 0.5f * dir.y));
            break;
        }
        float3 p = org + dir * t;
        float3 nrm = (p - spheres[id].center) * (1.0f / spheres[id].radius);
        float3 toLight = light - p;
        float dist = sqrtf(dot(toLight, toLight));
        toLight = toLight * (1.0f / dist);
        float lambert = dot(nrm, toLight);
        float shade = 0.1f + spheres[id].emission;
        if (lambert > 0.0f && !occluded(spheres, n, p + nrm * 1e-3f, toLight, dist))
            shade += lambert;
        color = color + spheres[id].albedo * (weight * shade);
        if (spheres[id].material != MAT_MIRROR) break;
        weight *= spheres[id].specular;
        org = p + nrm * 1e-3f;
        dir = dir - nrm * (2.0f * dot(dir, nrm));
    }
    image[y * w + x] = {fminf(color.x, 1.0f), fminf(color.y, 1.0f), fminf(color.z, 1.0f), firstId};
}

static uint32_t lcg = 12345u;
static float frand(float lo, float hi)
{
    lcg = lcg * 1664525u + 1013904223u;
    return lo + (hi - lo) * ((lcg >> 8) * (1.0f / 16777216.0f));
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1024;
    if (n < 1) n = 1;
    std::vector<Sphere> scene(n);
    for (Sphere &s : scene) {
        s.center = make_float3(frand(-24.0f, 24.0f), frand(-14.0f, 14.0f), frand(-10.0f, 30.0f));
        s.radius = frand(0.2f, 1.1f);
        s.albedo = make_float3(frand(0.1f, 0.9f), frand(0.1f, 0.9f), frand(0.1f, 0.9f));
        s.specular = frand(0.2f, 0.8f);
        s.material = (int)frand(0.0f, 3.99f);
        s.emission = frand(0.0f, 1.0f) < 0.05f ? 0.7f : 0.0f;
    }

    Sphere *dScene;
    Pixel *dImage;
    CUDA_CHECK(cudaMalloc(&dScene, n * sizeof(Sphere)));
    CUDA_CHECK(cudaMalloc(&dImage, WIDTH * HEIGHT * sizeof(Pixel)));
    CUDA_CHECK(cudaMemcpy(dScene, scene.data(), n * sizeof(Sphere), cudaMemcpyHostToDevice));

    dim3 block(16, 8);
    dim3 grid((WIDTH + block.x - 1) / block.x, (HEIGHT + block.y - 1) / block.y);
    float3 light = make_float3(-20.0f, 30.0f, -25.0f);
    render<<<grid, block>>>(dScene, n, dImage, WIDTH, HEIGHT, light);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());

    cudaEvent_t start, stop;
    CUDA_CHECK(cudaEventCreate(&start));
    CUDA_CHECK(cudaEventCreate(&stop));
    CUDA_CHECK(cudaEventRecord(start));
    for (int s = 0; s < STEPS; s++) {
        light.x += 1.5f;
        render<<<grid, block>>>(dScene, n, dImage, WIDTH, HEIGHT, light);
    }
    CUDA_CHECK(cudaEventRecord(stop));
    CUDA_CHECK(cudaEventSynchronize(stop));
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));

    std::vector<Pixel> image(WIDTH * HEIGHT);
    CUDA_CHECK(cudaMemcpy(image.data(), dImage, image.size() * sizeof(Pixel), cudaMemcpyDeviceToHost));
    uint64_t check = 0;
    for (size_t i = 0; i < image.size(); i++) {
        uint64_t rgb = (uint64_t)lrintf(image[i].r * 255.0f) + 256 * (uint64_t)lrintf(image[i].g * 255.0f) +
                       65536 * (uint64_t)lrintf(image[i].b * 255.0f);
        check += (rgb + 7919u * (uint64_t)(image[i].objectId + 1)) * (i % 1021 + 1);
    }
    printf("time_ms %.4f\ncheck %llu\n", ms / STEPS, (unsigned long long)check);
    cudaFree(dScene);
    cudaFree(dImage);
}
