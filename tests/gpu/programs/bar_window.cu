// Rolling indicators (SMA, ATR, VWAP, Donchian channel) over intraday bars of many
// tickers, a breakout signal, and a per-ticker back-test.  Free functions, raw pointers,
// grid-stride loops.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

static inline void ok_(cudaError_t rc, int line) {
	if (rc != cudaSuccess) { fprintf(stderr, "cuda: line %d: %s\n", line, cudaGetErrorString(rc)); abort(); }
}
#define OK(x) ok_((x), __LINE__)

struct bar {
	float open, high, low, close;
	float volume; int32_t trades, minute, halted;
};

struct indicator {
	float sma, atr, vwap;
	float upper, lower;
	int32_t signal;
};

struct account {
	float cash;
	float position;
	float entry_price;
	float max_equity, drawdown;
	int32_t trades;
	int32_t sector;
	int32_t stopped;
};

struct sector_sum {
	float equity, drawdown;
	int32_t trades, stopped;
};

#define N_SECTORS 11

__device__ float true_range(const bar &cur, const bar &prev)
{
	float b = fabsf(cur.high - prev.close), c = fabsf(cur.low - prev.close);
	return fmaxf(cur.high - cur.low, fmaxf(b, c));
}

__global__ void rolling(const bar *bars, indicator *ind, int tickers, int len, int window)
{
	int total = tickers * len;
	for (int id = blockIdx.x * blockDim.x + threadIdx.x; id < total; id += blockDim.x * gridDim.x) {
		int t = id % len;
		int first = t - window + 1 > 0 ? t - window + 1 : 0;
		const bar *b = bars + (id - t);
		float sum = 0.f, tr = 0.f, pv = 0.f, vol = 0.f, hi = 0.f, lo = 1e30f;
		int used = 0;
		for (int k = first; k <= t; k++) {
			if (b[k].halted) continue;
			sum += b[k].close;
			tr += k > 0 ? true_range(b[k], b[k - 1]) : b[k].high - b[k].low;
			pv += b[k].close * b[k].volume;
			vol += b[k].volume;
			if (k < t) { hi = fmaxf(hi, b[k].high); lo = fminf(lo, b[k].low); }
			used++;
		}
		float inv = used ? 1.f / used : 0.f;
		ind[id].sma = sum * inv;
		ind[id].atr = tr * inv;
		ind[id].vwap = vol > 0.f ? pv / vol : b[t].close;
		ind[id].upper = hi; ind[id].lower = lo;
	}
}

__global__ void breakout(const bar *bars, indicator *ind, int total, float band)
{
	for (int id = blockIdx.x * blockDim.x + threadIdx.x; id < total; id += blockDim.x * gridDim.x) {
		indicator *me = ind + id;
		float c = bars[id].close;
		int sig = 0;
		if (!bars[id].halted) {
			if (c > me->upper - band * me->atr && c > me->vwap) sig = 1;
			else if (c < me->lower + band * me->atr && c < me->sma) sig = -1;
		}
		me->signal = sig;
	}
}

__device__ void close_position(account &a, float price)
{
	a.cash += a.position * price;
	a.position = 0.f;
	a.trades++;
}

__global__ void backtest(const bar *bars, const indicator *ind, account *accts, int tickers, int len, float stop)
{
	for (int s = blockIdx.x * blockDim.x + threadIdx.x; s < tickers; s += blockDim.x * gridDim.x) {
		account a = accts[s];
		if (a.stopped) continue;
		for (int t = 1; t < len; t++) {
			int id = s * len + t;
			float price = bars[id].close;
			int sig = ind[id - 1].signal;          // act on the previous bar
			if (a.position > 0.f && (sig < 0 || price < a.entry_price - 3.f * ind[id].atr)) {
				close_position(a, price);
			} else if (a.position == 0.f && sig > 0) {
				a.position = 0.5f * a.cash / price;
				a.cash *= 0.5f; a.entry_price = price;
			}
			float equity = a.cash + a.position * price;
			a.max_equity = fmaxf(a.max_equity, equity);
			a.drawdown = fmaxf(a.drawdown, 1.f - equity / a.max_equity);
			if (a.drawdown > stop) { a.stopped = 1; break; }   // blown up, leave the market
		}
		if (a.position > 0.f) close_position(a, bars[s * len + len - 1].close);
		accts[s] = a;
	}
}

__global__ void by_sector(const account *accts, sector_sum *out, int tickers)
{
	for (int s = blockIdx.x * blockDim.x + threadIdx.x; s < tickers; s += blockDim.x * gridDim.x) {
		sector_sum *o = out + accts[s].sector;
		atomicAdd(&o->equity, accts[s].cash);
		atomicAdd(&o->drawdown, accts[s].drawdown);
		atomicAdd(&o->trades, accts[s].trades);
		atomicAdd(&o->stopped, accts[s].stopped);
	}
}

static uint64_t sm_state = 0x5eed;
static float next_float(void)
{
	uint64_t z = (sm_state += 0x9e3779b97f4a7c15ULL);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (float)((z >> 40) & 0xffffff) / 16777216.f;
}

static void make_bars(bar *b, int tickers, int len)
{
	for (int s = 0; s < tickers; s++) {
		float price = 10.f + 190.f * next_float(), sigma = 0.001f + 0.004f * next_float();
		for (int t = 0; t < len; t++, b++) {
			float r = next_float() + next_float() + next_float() - 1.5f;
			float smile = 1.f + 1.5f * fabsf(2.f * t / len - 1.f);   // busy open and close
			b->open = price;
			price *= 1.f + sigma * r * smile;
			b->close = price;
			b->high = fmaxf(b->open, b->close) * (1.f + 0.5f * sigma * next_float());
			b->low = fminf(b->open, b->close) * (1.f - 0.5f * sigma * next_float());
			b->volume = 1000.f * smile * (0.5f + next_float());
			b->trades = (int)(b->volume / 37.f);
			b->minute = t;
			b->halted = next_float() < 0.01f;
		}
	}
}

int main(int argc, char **argv)
{
	int tickers = argc > 1 ? atoi(argv[1]) : 8000;
	const int len = 390;
	int total = tickers * len;
	const int windows[] = {8, 20, 50};
	const float bands[] = {0.f, 0.25f};
	const int grid = 132 * 8, block = 256;

	bar *h_bars = (bar *)malloc(total * sizeof(bar));
	indicator *h_ind = (indicator *)malloc(total * sizeof(indicator));
	account *h_acc = (account *)malloc(tickers * sizeof(account));
	make_bars(h_bars, tickers, len);
	for (int s = 0; s < tickers; s++) {
		h_acc[s].cash = h_acc[s].max_equity = 1000.f + s % 100;
		h_acc[s].position = h_acc[s].entry_price = h_acc[s].drawdown = 0.f;
		h_acc[s].trades = h_acc[s].stopped = 0;
		h_acc[s].sector = (s * 5 + s / 17) % N_SECTORS;
	}

	bar *d_bars; indicator *d_ind; account *d_acc; sector_sum *d_sec;
	OK(cudaMalloc(&d_bars, total * sizeof(bar)));
	OK(cudaMalloc(&d_ind, total * sizeof(indicator)));
	OK(cudaMalloc(&d_acc, tickers * sizeof(account)));
	OK(cudaMalloc(&d_sec, N_SECTORS * sizeof(sector_sum)));
	OK(cudaMemcpy(d_bars, h_bars, total * sizeof(bar), cudaMemcpyHostToDevice));

	cudaEvent_t beg, end;
	float ms = 0.f;
	OK(cudaEventCreate(&beg)); OK(cudaEventCreate(&end));
	for (int reps = 1; reps <= 4; reps += 3) {      // first a short warm-up, then the real thing
		OK(cudaMemcpy(d_acc, h_acc, tickers * sizeof(account), cudaMemcpyHostToDevice));
		OK(cudaMemset(d_sec, 0, N_SECTORS * sizeof(sector_sum)));
		OK(cudaEventRecord(beg));
		for (int r = 0; r < reps; r++)
			for (int w = 0; w < 3; w++) {
				rolling<<<grid, block>>>(d_bars, d_ind, tickers, len, windows[w]);
				for (int b = 0; b < 2; b++) {
					breakout<<<grid, block>>>(d_bars, d_ind, total, bands[b]);
					backtest<<<(tickers + 63) / 64, 64>>>(d_bars, d_ind, d_acc, tickers, len, 0.4f);
				}
				by_sector<<<32, block>>>(d_acc, d_sec, tickers);
			}
		OK(cudaEventRecord(end));
		OK(cudaEventSynchronize(end)); OK(cudaGetLastError());
		OK(cudaEventElapsedTime(&ms, beg, end));
	}

	sector_sum sec[N_SECTORS];
	OK(cudaMemcpy(h_ind, d_ind, total * sizeof(indicator), cudaMemcpyDeviceToHost));
	OK(cudaMemcpy(h_acc, d_acc, tickers * sizeof(account), cudaMemcpyDeviceToHost));
	OK(cudaMemcpy(sec, d_sec, sizeof(sec), cudaMemcpyDeviceToHost));
	double sma = 0, atr = 0, longs = 0, cash = 0, trades = 0, eq = 0, dd = 0;
	for (int i = 0; i < total; i++) { sma += h_ind[i].sma; atr += h_ind[i].atr; longs += h_ind[i].signal > 0; }
	for (int s = 0; s < tickers; s++) { cash += h_acc[s].cash; trades += h_acc[s].trades; }
	for (int k = 0; k < N_SECTORS; k++) { eq += sec[k].equity; dd += sec[k].drawdown; }
	printf("check sma %.2e\ncheck atr %.2e\ncheck longs %.3e\n", sma, atr, longs);
	printf("check cash %.2e\ncheck trades %.3e\ncheck sector_equity %.2e\ncheck sector_dd %.2e\n", cash, trades, eq, dd);
	printf("time_ms %.4f\n", ms);
	return 0;
}
