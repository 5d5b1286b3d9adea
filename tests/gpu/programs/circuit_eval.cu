// Device evaluation of a circuit simulator: resistors, capacitors, diodes and
// MOSFETs in the (random) order of the netlist. Each element's current is
// computed from the voltages of its nodes and stored in the element.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

#define CUDA_TRY(e)                                                         \
    {                                                                       \
        cudaError_t _s = e;                                                 \
        if (_s != cudaSuccess) {                                            \
            fprintf(stderr, "%s (line %d)\n", cudaGetErrorString(_s), __LINE__); \
            abort();                                                        \
        }                                                                   \
    }

enum Kind : int { RESISTOR = 0, CAPACITOR = 1, DIODE = 2, MOSFET = 3 };

struct Element {
    int kind;
    int pos, neg, gate;
    float conductance;
    float farads;
    float vPrev;
    float isat;
    float invNvt;
    float kp;
    float vth;
    float lambda;
    float current;
};

__global__ void driveNodes(float *volts, const float *amp, const float *phase,
                           int numNodes, float omegaT)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < numNodes)
        volts[i] = amp[i] * sinf(omegaT + phase[i]);
}

__device__ float mosfetCurrent(const Element &e, float vds, float vgs)
{
    float ov = vgs - e.vth;
    if (ov <= 0.0f)
        return 0.0f;
    float sign = 1.0f;
    if (vds < 0.0f) {
        vds = -vds;
        sign = -1.0f;
    }
    float clm = 1.0f + e.lambda * vds;
    if (vds < ov)
        return sign * e.kp * (ov - 0.5f * vds) * vds * clm;
    return sign * 0.5f * e.kp * ov * ov * clm;
}

__global__ void evaluate(Element *elems, const float *__restrict__ volts, int n, float invDt)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        Element &e = elems[i];
        float vn = volts[e.neg];
        float v = volts[e.pos] - vn;
        float amps = 0.0f;
        switch (e.kind) {
        case RESISTOR:
            amps = v * e.conductance;
            break;
        case CAPACITOR:
            amps = e.farads * (v - e.vPrev) * invDt;
            e.vPrev = v;
            break;
        case DIODE: {
            float x = fminf(v * e.invNvt, 20.0f);
            amps = e.isat * (expf(x) - 1.0f);
            break;
        }
        case MOSFET:
            amps = mosfetCurrent(e, v, volts[e.gate] - vn);
            break;
        }
        e.current = amps;
    }
}

struct Random {
    uint32_t x = 2463534242u;
    uint32_t next()
    {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        return x;
    }
    float real(float lo, float hi) { return lo + (hi - lo) * (next() >> 8) / 16777216.0f; }
};

std::vector<Element> makeNetlist(int n, int numNodes, Random &rnd)
{
    std::vector<Element> v(n);
    for (auto &e : v) {
        e = Element{};
        e.kind = (int)(rnd.next() >> 30);
        e.pos = (int)(rnd.next() % numNodes);
        e.neg = (int)(rnd.next() % numNodes);
        e.gate = (int)(rnd.next() % numNodes);
        if (e.kind == RESISTOR) {
            e.conductance = 1.0f / rnd.real(10.0f, 10000.0f);
        } else if (e.kind == CAPACITOR) {
            e.farads = rnd.real(1e-9f, 1e-6f);
        } else if (e.kind == DIODE) {
            e.isat = rnd.real(1e-10f, 1e-9f);
            e.invNvt = 1.0f / rnd.real(0.026f, 0.05f);
        } else {
            e.kp = rnd.real(1e-4f, 1e-2f);
            e.vth = rnd.real(0.3f, 0.8f);
            e.lambda = rnd.real(0.0f, 0.05f);
        }
    }
    return v;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 4000000;
    if (n < 1)
        return 1;
    const int numNodes = 50000;
    const int steps = 50;

    Random rnd;
    std::vector<Element> elems = makeNetlist(n, numNodes, rnd);
    std::vector<float> amp(numNodes), phase(numNodes);
    for (int i = 0; i < numNodes; i++) {
        amp[i] = rnd.real(0.0f, 1.5f);
        phase[i] = rnd.real(0.0f, 6.28f);
    }

    Element *dElems;
    float *dVolts, *dAmp, *dPhase;
    CUDA_TRY(cudaMalloc(&dElems, sizeof(Element) * n));
    CUDA_TRY(cudaMalloc(&dVolts, sizeof(float) * numNodes));
    CUDA_TRY(cudaMalloc(&dAmp, sizeof(float) * numNodes));
    CUDA_TRY(cudaMalloc(&dPhase, sizeof(float) * numNodes));
    CUDA_TRY(cudaMemcpy(dElems, elems.data(), sizeof(Element) * n, cudaMemcpyHostToDevice));
    CUDA_TRY(cudaMemcpy(dAmp, amp.data(), sizeof(float) * numNodes, cudaMemcpyHostToDevice));
    CUDA_TRY(cudaMemcpy(dPhase, phase.data(), sizeof(float) * numNodes, cudaMemcpyHostToDevice));

    cudaEvent_t start, stop;
    CUDA_TRY(cudaEventCreate(&start));
    CUDA_TRY(cudaEventCreate(&stop));
    for (int s = 0; s <= steps; s++) {
        if (s == 1)   // step 0 is the warm-up
            CUDA_TRY(cudaEventRecord(start));
        driveNodes<<<(numNodes + 255) / 256, 256>>>(dVolts, dAmp, dPhase, numNodes, 0.05f * s);
        evaluate<<<2048, 256>>>(dElems, dVolts, n, 1.0e6f);
    }
    CUDA_TRY(cudaEventRecord(stop));
    CUDA_TRY(cudaEventSynchronize(stop));
    CUDA_TRY(cudaGetLastError());
    float ms;
    CUDA_TRY(cudaEventElapsedTime(&ms, start, stop));

    CUDA_TRY(cudaMemcpy(elems.data(), dElems, sizeof(Element) * n, cudaMemcpyDeviceToHost));
    long long check = 0;
    for (int i = 0; i < n; i++) {
        check += llrint(elems[i].current * 1.0e6) * (i % 13 + 1);
        check += llrint(elems[i].vPrev * 1.0e4);
    }
    printf("time_ms %f\ncheck %lld\n", ms / steps, check);

    cudaFree(dElems);
    cudaFree(dVolts);
    cudaFree(dAmp);
    cudaFree(dPhase);
    return 0;
}
