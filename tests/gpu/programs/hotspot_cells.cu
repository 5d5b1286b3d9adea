// hotspot_cells: transient thermal simulation of a die, one record per grid cell.
// usage: ./hotspot_cells [rows] [cols] [iterations]
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define BLOCK_X 32
#define BLOCK_Y 8
#define UNIT 16            /* functional unit edge, in cells */
#define NUM_MATERIALS 12
#define AMB_TEMP 80.0f

#define CUDA_CHECK(call)                                                     \
  do {                                                                       \
    cudaError_t err_ = (call);                                               \
    if (err_ != cudaSuccess) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                     \
              cudaGetErrorString(err_));                                     \
      exit(EXIT_FAILURE);                                                    \
    }                                                                        \
  } while (0)

typedef struct {
  float temp;      /* temperature at the current step  */
  float tnext;     /* temperature at the next step     */
  float power;     /* dissipated power                 */
  float gx, gy;    /* lateral conductances             */
  float peak;      /* hottest temperature seen so far  */
  int material;
  int trips;       /* times the cell went over limit   */
} Cell;

typedef struct {
  float inv_cap;
  float gz;
  float leak;
  float limit;
} Material;

typedef struct {
  int row, col;
  float reading;
  float filtered;
  int alarms;
  int quality;
} Sensor;

__global__ void hotspot_step(Cell *cells, const Material *mats, int rows,
                             int cols, float dt)
{
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= rows || c >= cols) return;

  int idx = r * cols + c;
  int n = (r > 0) ? idx - cols : idx;
  int s = (r < rows - 1) ? idx + cols : idx;
  int w = (c > 0) ? idx - 1 : idx;
  int e = (c < cols - 1) ? idx + 1 : idx;

  float t = cells[idx].temp;
  int m = cells[idx].material;
  float leak = mats[m].leak * (t - AMB_TEMP);
  float flux = cells[idx].power + leak
             + (cells[n].temp + cells[s].temp - 2.0f * t) * cells[idx].gy
             + (cells[w].temp + cells[e].temp - 2.0f * t) * cells[idx].gx
             + (AMB_TEMP - t) * mats[m].gz;
  cells[idx].tnext = t + dt * mats[m].inv_cap * flux;
}

__global__ void hotspot_commit(Cell *cells, const Material *mats, int total)
{
  int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += stride) {
    float t = cells[i].tnext;
    cells[i].temp = t;
    if (t > cells[i].peak) {
      cells[i].peak = t;
      if (t > mats[cells[i].material].limit)
        cells[i].trips++;
    }
  }
}

/* One thread per sensor: average the full 3x3 neighbourhood, few threads. */
__global__ void read_sensors(Sensor *sensors, const Cell *cells, int nsens,
                             int rows, int cols)
{
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= nsens) return;
  Sensor s = sensors[k];
  float acc = 0.0f, wsum = 0.0f;
  int q = 0;
  for (int dr = -1; dr <= 1; dr++)
    for (int dc = -1; dc <= 1; dc++) {
      int r = min(max(s.row + dr, 0), rows - 1);
      int c = min(max(s.col + dc, 0), cols - 1);
      Cell cell = cells[r * cols + c];
      float w = 1.0f + cell.gx + cell.gy;
      acc += w * (0.75f * cell.temp + 0.25f * cell.peak) + 0.01f * cell.power;
      wsum += w;
      q += cell.trips + (cell.material & 1);
    }
  s.reading = acc / wsum;
  s.filtered = 0.8f * s.filtered + 0.2f * s.reading;
  if (s.reading > 1.02f * s.filtered) s.alarms++;
  s.quality += q;
  sensors[k] = s;
}

/* One block per functional unit: throttle the power of hot units. */
__global__ void throttle_units(Cell *cells, int cols, float limit)
{
  __shared__ float smax[UNIT * UNIT];
  int tid = threadIdx.y * UNIT + threadIdx.x;
  int r = blockIdx.y * UNIT + threadIdx.y;
  int c = blockIdx.x * UNIT + threadIdx.x;
  Cell *cell = &cells[r * cols + c];
  smax[tid] = cell->temp;
  __syncthreads();
  for (int h = UNIT * UNIT / 2; h > 0; h >>= 1) {
    if (tid < h) smax[tid] = fmaxf(smax[tid], smax[tid + h]);
    __syncthreads();
  }
  if (smax[0] > limit) cell->power *= 0.9f;
}

static unsigned int rng_state = 7u;
static unsigned int rng(void)
{
  rng_state = rng_state * 1664525u + 1013904223u;
  return rng_state >> 8;
}
static float frand(void) { return (float)rng() * (1.0f / 16777216.0f); }

int main(int argc, char **argv)
{
  int rows = argc > 1 ? atoi(argv[1]) : 2048;
  int cols = argc > 2 ? atoi(argv[2]) : 2048;
  int iters = argc > 3 ? atoi(argv[3]) : 30;
  rows = (rows < UNIT ? UNIT : rows) / UNIT * UNIT;
  cols = (cols < UNIT ? UNIT : cols) / UNIT * UNIT;
  int total = rows * cols;
  int nsens = 4096;

  Cell *h_cells = (Cell *)malloc(sizeof(Cell) * (size_t)total);
  Sensor *h_sens = (Sensor *)malloc(sizeof(Sensor) * nsens);
  Material h_mats[NUM_MATERIALS];
  for (int m = 0; m < NUM_MATERIALS; m++) {
    h_mats[m].inv_cap = 0.5f + 0.05f * m;
    h_mats[m].gz = 0.02f + 0.01f * (m % 5);
    h_mats[m].leak = 0.001f * (m % 3);
    h_mats[m].limit = AMB_TEMP + 4.0f + m;
  }
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < cols; c++) {
      Cell *p = &h_cells[r * cols + c];
      int unit = (r / 64) * 37 + (c / 64) * 11;
      p->temp = AMB_TEMP + 2.0f * frand();
      p->tnext = 0.0f;
      p->power = (unit % 7 == 0) ? 4.0f * frand() : 0.3f;
      p->gx = 0.1f + 0.1f * frand();
      p->gy = 0.1f + 0.1f * frand();
      p->peak = p->temp;
      p->material = unit % NUM_MATERIALS;
      p->trips = 0;
    }
  for (int k = 0; k < nsens; k++) {
    h_sens[k].row = (int)(rng() % rows);
    h_sens[k].col = (int)(rng() % cols);
    h_sens[k].reading = 0.0f;
    h_sens[k].filtered = AMB_TEMP;
    h_sens[k].alarms = 0;
    h_sens[k].quality = 0;
  }

  Cell *d_cells; Material *d_mats; Sensor *d_sens;
  CUDA_CHECK(cudaMalloc((void **)&d_cells, sizeof(Cell) * (size_t)total));
  CUDA_CHECK(cudaMalloc((void **)&d_mats, sizeof(Material) * NUM_MATERIALS));
  CUDA_CHECK(cudaMalloc((void **)&d_sens, sizeof(Sensor) * nsens));
  CUDA_CHECK(cudaMemcpy(d_cells, h_cells, sizeof(Cell) * (size_t)total, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(d_mats, h_mats, sizeof(Material) * NUM_MATERIALS, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(d_sens, h_sens, sizeof(Sensor) * nsens, cudaMemcpyHostToDevice));

  dim3 block(BLOCK_X, BLOCK_Y);
  dim3 grid((cols + BLOCK_X - 1) / BLOCK_X, (rows + BLOCK_Y - 1) / BLOCK_Y);
  dim3 ublock(UNIT, UNIT), ugrid(cols / UNIT, rows / UNIT);

  cudaEvent_t t0, t1;
  cudaEventCreate(&t0);
  cudaEventCreate(&t1);
  CUDA_CHECK(cudaDeviceSynchronize());
  cudaEventRecord(t0);
  for (int it = 0; it < iters; it++) {
    hotspot_step<<<grid, block>>>(d_cells, d_mats, rows, cols, 0.5f);
    hotspot_commit<<<2048, 256>>>(d_cells, d_mats, total);
    if (it % 2 == 1)
      read_sensors<<<(nsens + 127) / 128, 128>>>(d_sens, d_cells, nsens, rows, cols);
    if (it % 10 == 9)
      throttle_units<<<ugrid, ublock>>>(d_cells, cols, AMB_TEMP + 8.0f);
  }
  cudaEventRecord(t1);
  CUDA_CHECK(cudaEventSynchronize(t1));
  CUDA_CHECK(cudaGetLastError());
  float ms = 0.0f;
  cudaEventElapsedTime(&ms, t0, t1);

  CUDA_CHECK(cudaMemcpy(h_cells, d_cells, sizeof(Cell) * (size_t)total, cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(h_sens, d_sens, sizeof(Sensor) * nsens, cudaMemcpyDeviceToHost));
  double tsum = 0, psum = 0, pk = 0, filt = 0;
  long long trips = 0, qual = 0;
  for (int i = 0; i < total; i++) {
    tsum += h_cells[i].temp;
    psum += h_cells[i].power;
    if (h_cells[i].peak > pk) pk = h_cells[i].peak;
    trips += h_cells[i].trips;
  }
  for (int k = 0; k < nsens; k++) { filt += h_sens[k].filtered; qual += h_sens[k].quality; }
  printf("check temp_sum %.6g\n", tsum);
  printf("check power_sum %.6g\n", psum);
  printf("check peak %.6g\n", pk);
  printf("check trips %lld\n", trips);
  printf("check sensor_filtered %.6g\n", filt);
  printf("check sensor_quality %lld\n", qual);
  printf("time_ms %.4f\n", ms);

  cudaFree(d_cells); cudaFree(d_mats); cudaFree(d_sens);
  free(h_cells); free(h_sens);
  return 0;
}
