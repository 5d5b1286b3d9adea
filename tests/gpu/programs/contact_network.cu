// Mean-field epidemic on a contact network stored as CSR. Each person gathers
// the infection pressure of its contacts; contacts inside the same household
// cluster count more than those outside it.
//   usage: contact_network [persons]
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define GPU_CHECK(stmt)                                                        \
    {                                                                          \
        cudaError_t status = stmt;                                             \
        if (status != cudaSuccess) {                                           \
            printf("CUDA error %s at line %d\n", cudaGetErrorString(status),   \
                   __LINE__);                                                  \
            return 1;                                                          \
        }                                                                      \
    }

struct Person {
    float infectious;  // fraction currently infectious
    float susceptible; // fraction not yet infected
    float pressure;    // gathered from contacts
    int cluster;
    unsigned ageGroup;
};

__global__ void gatherPressure(Person *people, const int *__restrict__ rowPtr, const int *__restrict__ contacts,
                               int n, float inside, float outside)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    int mine = people[v].cluster;
    float sum = 0.0f;
    for (int e = rowPtr[v]; e < rowPtr[v + 1]; ++e) {
        int u = contacts[e];
        float w = (people[u].cluster == mine) ? inside : outside;
        sum += w * people[u].infectious;
    }
    people[v].pressure = sum;
}

__global__ void advance(Person *people, int n, float beta, float gamma)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    Person p = people[v];
    float ageFactor = p.ageGroup > 2 ? 1.3f : 1.0f;
    float fresh = p.susceptible * (1.0f - __expf(-beta * ageFactor * p.pressure));
    p.susceptible -= fresh;
    p.infectious += fresh - gamma * p.infectious;
    people[v] = p;
}

static uint32_t mix(uint32_t x)
{
    x += 0x9e3779b9u;
    x ^= x >> 15;
    x *= 0x2c1b3c6du;
    x ^= x >> 12;
    x *= 0x297a2d39u;
    x ^= x >> 15;
    return x;
}

static void buildNetwork(int n, std::vector<int> &rowPtr, std::vector<int> &contacts)
{
    rowPtr.resize(n + 1);
    rowPtr[0] = 0;
    for (int v = 0; v < n; ++v)
        rowPtr[v + 1] = rowPtr[v] + 2 + (int)(mix(v) % 9);
    contacts.resize(rowPtr[n]);
    for (int v = 0; v < n; ++v) {
        for (int e = rowPtr[v]; e < rowPtr[v + 1]; ++e) {
            uint32_t h = mix(e * 2u + 1u);
            int64_t u;
            if (h & 3) // local contact
                u = (int64_t)v + (int)((h >> 2) % 2001) - 1000;
            else // anywhere
                u = mix(h) % (uint32_t)n;
            contacts[e] = (int)std::min<int64_t>(std::max<int64_t>(u, 0), n - 1);
        }
    }
}

int main(int argc, char *argv[])
{
    int n = 4 * 1000 * 1000;
    if (argc > 1) n = std::max(1, atoi(argv[1]));
    const int steps = 20;

    std::vector<Person> people(n);
    for (int v = 0; v < n; ++v) {
        uint32_t h = mix(v ^ 0x5bd1e995u);
        people[v].infectious = (h % 100 == 0) ? 0.5f : 0.0f;
        people[v].susceptible = 1.0f - people[v].infectious;
        people[v].pressure = 0.0f;
        people[v].cluster = v / 37;
        people[v].ageGroup = (h >> 8) % 5;
    }
    std::vector<int> rowPtr, contacts;
    buildNetwork(n, rowPtr, contacts);

    Person *dPeople;
    int *dRow, *dContacts;
    GPU_CHECK(cudaMalloc(&dPeople, sizeof(Person) * people.size()));
    GPU_CHECK(cudaMalloc(&dRow, sizeof(int) * rowPtr.size()));
    GPU_CHECK(cudaMalloc(&dContacts, sizeof(int) * contacts.size()));
    GPU_CHECK(cudaMemcpy(dPeople, people.data(), sizeof(Person) * people.size(), cudaMemcpyHostToDevice));
    GPU_CHECK(cudaMemcpy(dRow, rowPtr.data(), sizeof(int) * rowPtr.size(), cudaMemcpyHostToDevice));
    GPU_CHECK(cudaMemcpy(dContacts, contacts.data(), sizeof(int) * contacts.size(), cudaMemcpyHostToDevice));

    const int tpb = 128;
    const int nb = (n + tpb - 1) / tpb;
    auto day = [&]() {
        gatherPressure<<<nb, tpb>>>(dPeople, dRow, dContacts, n, 0.9f, 0.25f);
        advance<<<nb, tpb>>>(dPeople, n, 0.12f, 0.1f);
    };

    day();
    GPU_CHECK(cudaGetLastError());
    GPU_CHECK(cudaDeviceSynchronize());

    cudaEvent_t begin, end;
    GPU_CHECK(cudaEventCreate(&begin));
    GPU_CHECK(cudaEventCreate(&end));
    GPU_CHECK(cudaEventRecord(begin));
    for (int s = 0; s < steps; ++s)
        day();
    GPU_CHECK(cudaEventRecord(end));
    GPU_CHECK(cudaEventSynchronize(end));
    float ms = 0;
    GPU_CHECK(cudaEventElapsedTime(&ms, begin, end));

    GPU_CHECK(cudaMemcpy(people.data(), dPeople, sizeof(Person) * people.size(), cudaMemcpyDeviceToHost));
    unsigned long long check = 0;
    for (int v = 0; v < n; ++v) {
        unsigned long long q = llround(people[v].infectious * 1e4) + 3 * llround(people[v].susceptible * 1e4) +
                               5 * llround(people[v].pressure * 1e3);
        check += q * (unsigned)(v % 127 + 1) + people[v].cluster + people[v].ageGroup;
    }
    printf("persons %d contacts %zu\ntime_ms %.4f\ncheck %llu\n", n, contacts.size(), ms / steps, check);
    cudaFree(dPeople);
    cudaFree(dRow);
    cudaFree(dContacts);
    return 0;
}
