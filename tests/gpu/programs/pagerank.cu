// PageRank over incoming links in compressed rows: random neighbours, two of
// five fields each.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t status = (call);                                                                                       \
    if (status != cudaSuccess) {                                                                                       \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));                                  \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

struct Page {
  float rank;
  int outgoing;
  int first, incoming; // the row of its incoming links
  int site;
};

__global__ void iterate(const Page *__restrict__ pages, const int *__restrict__ links, float *__restrict__ next,
                        int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int begin = pages[i].first, end = begin + pages[i].incoming;
  float sum = 0;
  for (int e = begin; e < end; ++e) {
    int j = links[e];
    sum += pages[j].rank / pages[j].outgoing;
  }
  next[i] = 0.15f + 0.85f * sum;
}

__global__ void store(Page *pages, const float *next, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    pages[i].rank = next[i];
}

// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 22;
  std::vector<Page> pages(n);
  std::vector<int> links;
  links.reserve(6 * (size_t)n);
  for (int i = 0; i < n; ++i) {
    pages[i] = {1, 1, (int)links.size(), (int)(hash(i) % 12), i / 100};
    for (int k = 0; k < pages[i].incoming; ++k)
      links.push_back(hash(16 * i + k) % n);
  }
  for (int from : links)
    ++pages[from].outgoing;
  Page *d_pages;
  CHECK(cudaMalloc(&d_pages, n * sizeof(Page)));
  CHECK(cudaMemcpy(d_pages, pages.data(), n * sizeof(Page), cudaMemcpyHostToDevice));
  int *d_links;
  CHECK(cudaMalloc(&d_links, links.size() * sizeof(int)));
  CHECK(cudaMemcpy(d_links, links.data(), links.size() * sizeof(int), cudaMemcpyHostToDevice));
  float *d_next;
  CHECK(cudaMalloc(&d_next, n * sizeof(float)));
  int blocks = (n + 255) / 256;

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = 100;
  for (int r = 0; r <= repeats; ++r) {
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
    iterate<<<blocks, 256>>>(d_pages, d_links, d_next, n);
    store<<<blocks, 256>>>(d_pages, d_next, n);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));

  CHECK(cudaMemcpy(pages.data(), d_pages, n * sizeof(Page), cudaMemcpyDeviceToHost));
  unsigned long long check = 0;
  for (const Page &p : pages)
    check = check * 31 + llround(p.rank * 1e2) + p.site;

  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  printf("check %llu\ntime_ms %.4f\n", check, ms / repeats);
  CHECK(cudaFree(d_pages));
  CHECK(cudaFree(d_links));
  CHECK(cudaFree(d_next));
}
