// A lava flow cools into basalt columns: each column has up to six neighbours, named by index, over whose faces heat
// goes and cracks spread.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define SIDES 6

typedef struct {
    double strain;
    float temp;
    float heat;
    float area;
    float cx, cy;
    float crack;
    int nb[SIDES];
    float face[SIDES];
    int age;
    unsigned char sides;
    unsigned char open;     // one bit for each face that has cracked
    unsigned char glassy;
} Column;

typedef struct {
    float conductivity;
    float latent;
    float air;
    float toughness;
    float dt;
} Rock;

typedef struct {
    int cracked_faces;
    int glassy;
    int solid;
} Survey;

static void stop_on(cudaError_t e, int line)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "basalt: line %d: %s\n", line, cudaGetErrorString(e));
        exit(1);
    }
}
#define S(x) stop_on(x, __LINE__)

static unsigned jumble(unsigned x)
{
    x = (x ^ (x >> 16)) * 0x45d9f3bu;
    x = (x ^ (x >> 16)) * 0x45d9f3bu;
    return x ^ (x >> 16);
}

__device__ int side_towards(const Column *c, int who)
{
    for (int s = 0; s < c->sides; s++)
        if (c->nb[s] == who)
            return s;
    return -1;
}

__global__ void conduct(const Column *now, Column *then, int n, Rock rock)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Column c = now[i];
    float gain = 0.0f;
    float pull = 0.0f;
    for (int s = 0; s < c.sides; s++) {
        const Column &o = now[c.nb[s]];
        float k = (c.open >> s & 1) ? 0.2f * rock.conductivity : rock.conductivity;
        gain += k * c.face[s] * (o.temp - c.temp);
        pull += c.face[s] * fabsf(o.temp - c.temp);
    }
    gain += rock.air * c.area * (15.0f - c.temp);
    c.heat += rock.dt * gain;
    float soft = c.temp > 1000.0f ? rock.latent : 1.0f;
    float change = rock.dt * gain / (c.area * soft);
    c.temp += change;
    c.strain += 1e-3 * (double)pull * (c.temp < 900.0f ? 1.0 : 0.1);
    if (change < -30.0f && c.temp < 1050.0f)
        c.glassy = 1;
    c.age++;
    then[i] = c;
}

// which faces crack is decided from the strains before this step
__global__ void fracture(const Column *now, Column *then, int n, Rock rock)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || now[i].temp > 950.0f)
        return;
    const Column *me = now + i;
    unsigned char open = me->open;
    float grown = 0.0f;
    for (int s = 0; s < me->sides; s++) {
        if (open >> s & 1)
            continue;
        int o = me->nb[s];
        double both = me->strain + now[o].strain;
        int back = side_towards(&now[o], i);
        if (back >= 0 && both > rock.toughness * (1.0 + me->face[s])) {
            open |= 1 << s;
            grown += me->face[s];
        }
    }
    if (open != me->open) {
        then[i].open = open;
        then[i].crack += grown;
        then[i].strain *= 0.25;
    }
}

__global__ void survey(const Column *columns, int n, Survey *out)
{
    __shared__ int faces, glassy, solid;
    if (threadIdx.x == 0)
        faces = glassy = solid = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int bits = __popc(columns[i].open);
        if (bits)
            atomicAdd(&faces, bits);
        if (columns[i].glassy)
            atomicAdd(&glassy, 1);
        if (columns[i].temp < 900.0f)
            atomicAdd(&solid, 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&out->cracked_faces, faces);
        atomicAdd(&out->glassy, glassy);
        atomicAdd(&out->solid, solid);
    }
}

static void lay_out(Column *cols, int w, int h)
{
    static const int ox[2][SIDES] = {{1, 0, -1, -1, -1, 0}, {1, 1, 0, -1, 0, 1}};
    static const int oy[SIDES] = {0, 1, 1, 0, -1, -1};
    int n = w * h;
    int *name = (int *)malloc(n * sizeof(int));     // columns are numbered in a shuffled way within runs of 4096
    for (int i = 0; i < n; i++)
        name[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int base = i / 4096 * 4096;
        int j = base + jumble(i) % (i - base + 1);
        int t = name[i];
        name[i] = name[j];
        name[j] = t;
    }
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            int at = y * w + x;
            Column *c = &cols[name[at]];
            unsigned r = jumble(at + 31);
            c->strain = (r & 255) * 0.01;
            c->temp = 1080.0f + (r >> 8 & 127);
            c->heat = 0.0f;
            c->area = 0.8f + (r >> 16 & 127) / 256.0f;
            c->cx = x + 0.5f * (y & 1);
            c->cy = 0.866f * y;
            c->crack = 0.0f;
            c->age = 0;
            c->sides = c->open = c->glassy = 0;
            for (int s = 0; s < SIDES; s++) {
                c->nb[s] = name[at];
                c->face[s] = 0.0f;
            }
            for (int s = 0; s < SIDES; s++) {
                int nx = x + ox[y & 1][s], ny = y + oy[s];
                if (nx < 0 || ny < 0 || nx >= w || ny >= h)
                    continue;
                c->nb[c->sides] = name[ny * w + nx];
                int lo = at < ny * w + nx ? at : ny * w + nx, hi = at + ny * w + nx - lo;
                c->face[c->sides] = 0.4f + (jumble(lo * 7 + hi) & 255) / 1024.0f;
                c->sides++;
            }
        }
    free(name);
}

int main(int argc, char **argv)
{
    int n = 1100000;
    if (argc > 1)
        n = atoi(argv[1]);
    int w = (int)floor(sqrt(n * 1.25));
    if (w < 1)
        w = 1;
    int h = n / w > 0 ? n / w : 1;
    n = w * h;
    Column *host = (Column *)malloc(n * sizeof(Column));
    lay_out(host, w, h);
    Column *a, *b;
    Survey *found, result;
    S(cudaMalloc(&a, n * sizeof(Column)));
    S(cudaMalloc(&b, n * sizeof(Column)));
    S(cudaMalloc(&found, sizeof(Survey)));
    S(cudaMemcpy(a, host, n * sizeof(Column), cudaMemcpyHostToDevice));
    S(cudaMemset(found, 0, sizeof(Survey)));
    Rock rock = {0.08f, 3.0f, 0.02f, 4.0f, 0.5f};
    cudaEvent_t t0, t1;
    S(cudaEventCreate(&t0));
    S(cudaEventCreate(&t1));
    const int warm = 2, days = 40;
    for (int d = 0; d < warm + days; d++) {
        if (d == warm)
            S(cudaEventRecord(t0));
        conduct<<<(n + 127) / 128, 128>>>(a, b, n, rock);
        fracture<<<(n + 255) / 256, 256>>>(a, b, n, rock);
        survey<<<396, 256>>>(b, n, found);
        Column *t = a;
        a = b;
        b = t;
    }
    S(cudaEventRecord(t1));
    S(cudaEventSynchronize(t1));
    float ms;
    S(cudaEventElapsedTime(&ms, t0, t1));
    S(cudaMemcpy(&result, found, sizeof(Survey), cudaMemcpyDeviceToHost));
    S(cudaMemcpy(host, a, n * sizeof(Column), cudaMemcpyDeviceToHost));
    double sum = result.cracked_faces + 2.0 * result.glassy + 3.0 * result.solid;
    for (int i = 0; i < n; i++)
        sum += host[i].temp + host[i].strain + host[i].crack;
    printf("check %.6e\n", sum);
    printf("time_ms %.5f\n", ms / days);
    cudaFree(a);
    cudaFree(b);
    cudaFree(found);
    free(host);
    return 0;
}
