// xs_bench: continuous-energy macroscopic cross-section lookups (Monte Carlo
// neutron transport proxy), hash-accelerated search over per-nuclide grids.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime.h>

typedef struct
{
	double energy;
	double total_xs;
	double elastic_xs;
	double absorbtion_xs;
	double fission_xs;
	double nu_fission_xs;
} NuclideGridPoint;

typedef struct
{
	int nuclide;
	float temperature_factor;
	double conc;
} MatEntry;

typedef struct
{
	double p_energy;
	double macro_xs[5];
	int mat;
	int best;
} Lookup;

typedef struct
{
	int start;
	int count;
	unsigned long long hits;
	unsigned long long score;
} MatInfo;

#define N_MATS 12
#define HASH_BINS 1024

static const int mat_sizes[N_MATS] = { 321, 5, 4, 4, 27, 21, 21, 21, 21, 21, 9, 9 };

#define GPU(x) gpu_assert((x), __LINE__)
static void gpu_assert(cudaError_t code, int line)
{
	if (code != cudaSuccess)
	{
		fprintf(stderr, "GPU error at line %d: %s\n", line, cudaGetErrorString(code));
		exit(2);
	}
}

__host__ __device__ static inline unsigned long long lcg_step(unsigned long long s)
{
	return s * 2806196910506780709ULL + 1ULL;
}

__host__ __device__ static inline double to_unit(unsigned long long s)
{
	return (double)(s >> 11) * (1.0 / 9007199254740992.0);
}

__host__ __device__ static inline int pick_mat(double roll)
{
	const double dist[N_MATS] = { 0.140, 0.052, 0.275, 0.134, 0.154, 0.064,
		0.066, 0.055, 0.008, 0.015, 0.025, 0.012 };
	double run = 0.0;
	for (int i = 0; i < N_MATS - 1; i++)
	{
		run += dist[i];
		if (roll < run)
			return i;
	}
	return N_MATS - 1;
}

__device__ int grid_search(const NuclideGridPoint *grid, int lo, int hi, double quarry)
{
	// returns index of the last point in [lo, hi) whose energy is <= quarry
	while (hi - lo > 1)
	{
		int mid = lo + (hi - lo) / 2;
		if (grid[mid].energy > quarry)
			hi = mid;
		else
			lo = mid;
	}
	return lo;
}

__device__ void calculate_micro_xs(double p_energy, int nuc, int n_gridpoints,
	const NuclideGridPoint *grids, const int *hash, double *xs)
{
	int u = (int)(p_energy * HASH_BINS);
	int lo = hash[nuc * (HASH_BINS + 1) + u];
	int hi = hash[nuc * (HASH_BINS + 1) + u + 1] + 1;
	if (hi > n_gridpoints - 1)
		hi = n_gridpoints - 1;
	const NuclideGridPoint *mine = grids + (long)nuc * n_gridpoints;
	int idx = grid_search(mine, lo, hi, p_energy);

	const NuclideGridPoint *low = &mine[idx];
	const NuclideGridPoint *high = low + 1;
	double f = (high->energy - p_energy) / (high->energy - low->energy);
	xs[0] = high->total_xs - f * (high->total_xs - low->total_xs);
	xs[1] = high->elastic_xs - f * (high->elastic_xs - low->elastic_xs);
	xs[2] = high->absorbtion_xs - f * (high->absorbtion_xs - low->absorbtion_xs);
	xs[3] = high->fission_xs - f * (high->fission_xs - low->fission_xs);
	xs[4] = high->nu_fission_xs - f * (high->nu_fission_xs - low->nu_fission_xs);
}

__global__ void xs_lookup_kernel(Lookup *lookups, int n_lookups, const MatInfo *mats,
	const MatEntry *entries, const NuclideGridPoint *grids, const int *hash,
	int n_gridpoints)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n_lookups)
		return;

	double macro[5] = { 0, 0, 0, 0, 0 };
	double energy = lookups[i].p_energy;
	int mat = lookups[i].mat;
	int start = mats[mat].start;
	int count = mats[mat].count;
	for (int j = 0; j < count; j++)
	{
		double micro[5];
		calculate_micro_xs(energy, entries[start + j].nuclide, n_gridpoints, grids, hash, micro);
		double conc = entries[start + j].conc * entries[start + j].temperature_factor;
		for (int k = 0; k < 5; k++)
			macro[k] += micro[k] * conc;
	}
	for (int k = 0; k < 5; k++)
		lookups[i].macro_xs[k] = macro[k];
}

__global__ void reaction_kernel(Lookup *lookups, MatInfo *mats, int n_lookups)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n_lookups)
		return;
	double max = -1.0;
	int arg = 0;
	for (int k = 0; k < 5; k++)
	{
		if (lookups[i].macro_xs[k] > max)
		{
			max = lookups[i].macro_xs[k];
			arg = k;
		}
	}
	lookups[i].best = arg;
	int m = lookups[i].mat;
	atomicAdd(&mats[m].hits, 1ULL);
	atomicAdd(&mats[m].score, (unsigned long long)(arg + 1));
}

// Re-sample energies (and materials, when unsorted) for the next batch.
__global__ void resample_kernel(Lookup *lookups, int n_lookups, unsigned long long seed, int keep_mat)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n_lookups)
		return;
	unsigned long long s = lcg_step(seed ^ ((unsigned long long)(i + 1) * 0x9E3779B97F4A7C15ULL));
	s = lcg_step(s);
	lookups[i].p_energy = to_unit(s);
	if (!keep_mat)
	{
		s = lcg_step(s);
		lookups[i].mat = pick_mat(to_unit(s));
	}
}

int main(int argc, char *argv[])
{
	int n_isotopes = 355;
	int n_gridpoints = argc > 1 ? atoi(argv[1]) : 11303;
	int n_lookups = argc > 2 ? atoi(argv[2]) : 400000;
	int n_batches = 4;
	if (n_gridpoints < 16)
		n_gridpoints = 16;

	size_t n_points = (size_t)n_isotopes * n_gridpoints;
	NuclideGridPoint *grids = (NuclideGridPoint *)malloc(n_points * sizeof(NuclideGridPoint));
	int *hash = (int *)malloc(sizeof(int) * n_isotopes * (HASH_BINS + 1));
	unsigned long long s = 42;
	for (int n = 0; n < n_isotopes; n++)
	{
		NuclideGridPoint *g = grids + (size_t)n * n_gridpoints;
		for (int p = 0; p < n_gridpoints; p++)
		{
			s = lcg_step(s);
			// jittered, strictly increasing; first point at 0 and last at 1
			double jitter = (p == 0 || p == n_gridpoints - 1) ? 0.0 : 0.9 * (to_unit(s) - 0.5);
			g[p].energy = (p + jitter) / (n_gridpoints - 1);
			s = lcg_step(s); g[p].elastic_xs = to_unit(s);
			s = lcg_step(s); g[p].absorbtion_xs = to_unit(s);
			s = lcg_step(s); g[p].fission_xs = to_unit(s);
			s = lcg_step(s); g[p].nu_fission_xs = 2.4 * to_unit(s);
			g[p].total_xs = 0.6 * (g[p].elastic_xs + g[p].absorbtion_xs + g[p].fission_xs);
		}
		int p = 0;
		for (int u = 0; u <= HASH_BINS; u++)
		{
			double e = (double)u / HASH_BINS;
			while (p + 1 < n_gridpoints - 1 && g[p + 1].energy <= e)
				p++;
			hash[n * (HASH_BINS + 1) + u] = p;
		}
	}

	MatInfo mats[N_MATS];
	int total = 0;
	for (int m = 0; m < N_MATS; m++)
	{
		mats[m].start = total;
		mats[m].count = mat_sizes[m];
		mats[m].hits = 0;
		mats[m].score = 0;
		total += mat_sizes[m];
	}
	MatEntry *entries = (MatEntry *)malloc(total * sizeof(MatEntry));
	for (int m = 0; m < N_MATS; m++)
		for (int j = 0; j < mats[m].count; j++)
		{
			MatEntry *e = &entries[mats[m].start + j];
			s = lcg_step(s);
			e->nuclide = (m == 0) ? j : (int)((m * 29 + j * 13) % n_isotopes);
			e->temperature_factor = 0.9f + 0.2f * (float)to_unit(s);
			s = lcg_step(s);
			e->conc = to_unit(s);
		}

	// first half of the history list is sorted by material, second half is random
	Lookup *lookups = (Lookup *)calloc(n_lookups, sizeof(Lookup));
	int half = n_lookups / 2;
	for (int i = 0; i < n_lookups; i++)
	{
		s = lcg_step(s);
		lookups[i].p_energy = to_unit(s);
		s = lcg_step(s);
		lookups[i].mat = pick_mat(i < half ? (i + 0.5) / half : to_unit(s));
	}

	NuclideGridPoint *d_grids; int *d_hash; MatInfo *d_mats; MatEntry *d_entries; Lookup *d_lookups;
	GPU(cudaMalloc((void **)&d_grids, n_points * sizeof(NuclideGridPoint)));
	GPU(cudaMalloc((void **)&d_hash, sizeof(int) * n_isotopes * (HASH_BINS + 1)));
	GPU(cudaMalloc((void **)&d_mats, N_MATS * sizeof(MatInfo)));
	GPU(cudaMalloc((void **)&d_entries, total * sizeof(MatEntry)));
	GPU(cudaMalloc((void **)&d_lookups, n_lookups * sizeof(Lookup)));
	GPU(cudaMemcpy(d_grids, grids, n_points * sizeof(NuclideGridPoint), cudaMemcpyHostToDevice));
	GPU(cudaMemcpy(d_hash, hash, sizeof(int) * n_isotopes * (HASH_BINS + 1), cudaMemcpyHostToDevice));
	GPU(cudaMemcpy(d_mats, mats, N_MATS * sizeof(MatInfo), cudaMemcpyHostToDevice));
	GPU(cudaMemcpy(d_entries, entries, total * sizeof(MatEntry), cudaMemcpyHostToDevice));
	GPU(cudaMemcpy(d_lookups, lookups, n_lookups * sizeof(Lookup), cudaMemcpyHostToDevice));

	cudaEvent_t start, stop;
	GPU(cudaEventCreate(&start));
	GPU(cudaEventCreate(&stop));
	int nthreads = 256, nblocks = (n_lookups + nthreads - 1) / nthreads;
	GPU(cudaEventRecord(start));
	for (int b = 0; b < n_batches; b++)
	{
		xs_lookup_kernel<<<nblocks, nthreads>>>(d_lookups, n_lookups, d_mats, d_entries, d_grids, d_hash, n_gridpoints);
		reaction_kernel<<<nblocks, nthreads>>>(d_lookups, d_mats, n_lookups);
		if (b + 1 < n_batches)
			resample_kernel<<<nblocks, nthreads>>>(d_lookups, n_lookups, 1000ULL + b, b < 2);
	}
	GPU(cudaEventRecord(stop));
	GPU(cudaEventSynchronize(stop));
	GPU(cudaGetLastError());
	float ms;
	GPU(cudaEventElapsedTime(&ms, start, stop));

	GPU(cudaMemcpy(lookups, d_lookups, n_lookups * sizeof(Lookup), cudaMemcpyDeviceToHost));
	GPU(cudaMemcpy(mats, d_mats, N_MATS * sizeof(MatInfo), cudaMemcpyDeviceToHost));
	unsigned long long vhash = 0;
	double tot[5] = { 0, 0, 0, 0, 0 };
	for (int i = 0; i < n_lookups; i++)
	{
		vhash += (unsigned long long)(lookups[i].best + 1) * (i % 97 + 1);
		for (int k = 0; k < 5; k++)
			tot[k] += lookups[i].macro_xs[k];
	}
	unsigned long long score = 0;
	for (int m = 0; m < N_MATS; m++)
		score += mats[m].score * (m + 1) + mats[m].hits;
	printf("check verification %llu\n", vhash);
	printf("check total_xs %.6g\n", tot[0]);
	printf("check fission_xs %.6g\n", tot[3] + tot[4]);
	printf("check material_score %llu\n", score);
	printf("time_ms %.4f\n", ms);
	free(grids); free(hash); free(entries); free(lookups);
	cudaFree(d_grids); cudaFree(d_hash); cudaFree(d_mats); cudaFree(d_entries); cudaFree(d_lookups);
	return 0;
}
