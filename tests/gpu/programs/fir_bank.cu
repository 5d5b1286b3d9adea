// A receiver: mixes samples down, filters with a FIR low pass, decimates,
// measures the power, and sets the gain of the samples that come in next.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define ENSURE(expr)                                                              \
	do {                                                                      \
		cudaError_t e = (expr);                                           \
		if (e != cudaSuccess) {                                           \
			fprintf(stderr, #expr ": %s\n", cudaGetErrorString(e));   \
			exit(1);                                                  \
		}                                                                 \
	} while (0)

#define MAX_TAPS 128

struct iq_sample {
	int16_t i, q;
	uint32_t stamp;
	float gain;
};

struct baseband {
	float re, im;
	float power;
	int16_t channel, clipped;
};

struct receiver_config {
	int num_in, num_out;
	int decimation;
	int agc_window;
	float phase_step;
	float agc_target, agc_rate;
};

__constant__ float taps[MAX_TAPS];
__constant__ int num_taps;
__constant__ struct receiver_config rx;

__global__ void downconvert(const iq_sample *in, baseband *out)
{
	int o = blockIdx.x * blockDim.x + threadIdx.x;
	if (o >= rx.num_out)
		return;
	int first = o * rx.decimation;
	float re = 0, im = 0;
	int clipped = 0;
	for (int t = 0; t < num_taps; t++) {
		int k = first + t;
		float a = in[k].i * in[k].gain;
		float b = in[k].q * in[k].gain;
		re = fmaf(taps[t], a, re);
		im = fmaf(taps[t], b, im);
		clipped += fabsf(a) > 24000.0f;
	}
	/* rotate once per output, the filter being at the carrier already */
	float c, s;
	sincospif(rx.phase_step * (in[first].stamp & 4095), &s, &c);
	float x = re * c - im * s, y = re * s + im * c;
	out[o].re = x;
	out[o].im = y;
	out[o].power = x * x + y * y;
	out[o].clipped = (int16_t)clipped;
}

/* one thread per window of outputs, in order */
__global__ void measure(const baseband *out, float *level, int windows)
{
	int w = blockIdx.x * blockDim.x + threadIdx.x;
	if (w >= windows)
		return;
	float sum = 0;
	for (int k = 0; k < rx.agc_window; k++)
		sum += out[w * rx.agc_window + k].power;
	level[w] = sqrtf(sum / rx.agc_window);
}

__global__ void adjust_gain(iq_sample *in, const float *level, int windows)
{
	int k = blockIdx.x * blockDim.x + threadIdx.x;
	if (k >= rx.num_in)
		return;
	int w = min(k / (rx.decimation * rx.agc_window), windows - 1);
	float wanted = rx.agc_target / (level[w] + 1.0f);
	float change = fminf(fmaxf(wanted, 0.5f), 2.0f);
	in[k].gain *= 1.0f + rx.agc_rate * (change - 1.0f);
}

static void design_low_pass(float *h, int n, float cutoff)
{
	float total = 0;
	for (int t = 0; t < n; t++) {
		float x = t - 0.5f * (n - 1);
		float sinc = fabsf(x) < 1e-6f ? 2 * cutoff : sinf(6.2831853f * cutoff * x) / (3.14159265f * x);
		h[t] = sinc * (0.54f - 0.46f * cosf(6.2831853f * t / (n - 1)));
		total += h[t];
	}
	for (int t = 0; t < n; t++)
		h[t] /= total;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 12 << 20;
	int length = 49;
	struct receiver_config config;
	config.decimation = 5;
	config.agc_window = 64;
	config.num_out = (n - length) / config.decimation / config.agc_window * config.agc_window;
	config.num_in = n;
	config.phase_step = 2.0f * 613 / 4096;
	config.agc_target = 4000.0f;
	config.agc_rate = 0.02f;
	int windows = config.num_out / config.agc_window;
	if (windows < 1) {
		fprintf(stderr, "too few samples\n");
		return 1;
	}

	float h[MAX_TAPS] = {0};
	design_low_pass(h, length, 0.08f);
	ENSURE(cudaMemcpyToSymbol(taps, h, sizeof h));
	ENSURE(cudaMemcpyToSymbol(num_taps, &length, sizeof length));
	ENSURE(cudaMemcpyToSymbol(rx, &config, sizeof config));

	std::vector<iq_sample> samples(n);
	uint32_t lcg = 7;
	for (int k = 0; k < n; k++) {
		lcg = lcg * 1103515245u + 12345u;
		int noise = (int)(lcg >> 20) - 2048;
		int envelope = 3000 + (k >> 12) % 16 * 500;
		samples[k].i = (int16_t)(envelope * ((k * 13 & 255) < 128 ? 1 : -1) + noise);
		samples[k].q = (int16_t)(envelope * (((k * 13 + 64) & 255) < 128 ? 1 : -1) - noise / 2);
		samples[k].stamp = (uint32_t)k;
		samples[k].gain = 1.0f;
	}
	std::vector<baseband> band(config.num_out);
	for (int o = 0; o < config.num_out; o++)
		band[o] = {0, 0, 0, (int16_t)(o & 15), 0};

	iq_sample *d_in;
	baseband *d_out;
	float *d_level;
	ENSURE(cudaMalloc(&d_in, n * sizeof(iq_sample)));
	ENSURE(cudaMalloc(&d_out, config.num_out * sizeof(baseband)));
	ENSURE(cudaMalloc(&d_level, windows * sizeof(float)));
	ENSURE(cudaMemcpy(d_in, samples.data(), n * sizeof(iq_sample), cudaMemcpyHostToDevice));
	ENSURE(cudaMemcpy(d_out, band.data(), config.num_out * sizeof(baseband), cudaMemcpyHostToDevice));

	cudaEvent_t from, to;
	ENSURE(cudaEventCreate(&from));
	ENSURE(cudaEventCreate(&to));
	const int rounds = 60;
	for (int r = 0; r < rounds + 1; r++) {
		if (r == 1)
			ENSURE(cudaEventRecord(from));
		downconvert<<<(config.num_out + 127) / 128, 128>>>(d_in, d_out);
		measure<<<(windows + 63) / 64, 64>>>(d_out, d_level, windows);
		adjust_gain<<<(n + 255) / 256, 256>>>(d_in, d_level, windows);
	}
	ENSURE(cudaGetLastError());
	ENSURE(cudaEventRecord(to));
	ENSURE(cudaEventSynchronize(to));

	ENSURE(cudaMemcpy(band.data(), d_out, config.num_out * sizeof(baseband), cudaMemcpyDeviceToHost));
	unsigned long long check = 0;
	for (const baseband &b : band)
		check = check * 31 + llroundf(b.re / 8) + 3 * llroundf(b.im / 8) + 5 * b.channel + 7 * b.clipped;
	float ms;
	ENSURE(cudaEventElapsedTime(&ms, from, to));
	printf("check %llu\ntime_ms %.4f\n", check, ms / rounds);
	cudaFree(d_in);
	cudaFree(d_out);
	cudaFree(d_level);
	return 0;
}
