// nw_tiles: affine-gap global alignment of several sequence pairs. The full
// DP matrices are kept as cell records and filled by tile anti-diagonals.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

static const int TILE = 32;
static const int ALPHABET = 24;
static const int TRACES_PER_PAIR = 48;
static const int NEG = -(1 << 28);

enum Direction { FROM_DIAG = 0, FROM_LEFT = 1, FROM_UP = 2, STOP = 3 };

struct Cell {
    int h;              // best score ending here
    int e;              // best score ending in a gap in the row sequence
    int f;              // best score ending in a gap in the column sequence
    int dir;
};

struct Residue {
    int code;
    short gap_open;
    short gap_extend;
    float weight;
};

struct SubEntry {
    short score;
    short kind;
    unsigned int used;
};

struct RowStat {
    int max_h;
    int arg_col;
    int diag_count;
    int reserved;
};

struct Trace {
    int pair;
    int row, col;
    int length;
    int matches;
    int gaps;
    unsigned long long signature;
};

static void die_on(cudaError_t err, int line)
{
    if (err != cudaSuccess) {
        printf("CUDA error at line %d: %s\n", line, cudaGetErrorString(err));
        exit(-1);
    }
}
#define RUN(x) die_on((x), __LINE__)

__global__ void init_borders(Cell *cells, const Residue *seqA, const Residue *seqB, int len)
{
    const int pair = blockIdx.y;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > len) return;
    const size_t ld = len + 1;
    Cell *m = cells + (size_t)pair * ld * ld;
    const int open = seqA[pair * len].gap_open, ext = seqB[pair * len].gap_extend;
    Cell c;
    c.h = i == 0 ? 0 : -(open + ext * i);
    c.e = NEG;
    c.f = NEG;
    c.dir = i == 0 ? STOP : FROM_LEFT;
    m[i] = c;                       // row 0
    c.dir = i == 0 ? STOP : FROM_UP;
    m[(size_t)i * ld] = c;          // column 0
}

// One warp per tile, one matrix column per lane; tiles of one anti-diagonal.
__global__ void fill_diagonal(Cell *cells, const Residue *seqA, const Residue *seqB,
                              const SubEntry *sub, int len, int diag, int first_row)
{
    __shared__ int sh[TILE + 1][TILE + 1];
    __shared__ int se[TILE + 1][TILE + 1];
    __shared__ int sf[TILE + 1][TILE + 1];
    const int pair = blockIdx.y;
    const int lane = threadIdx.x;
    const int tr = first_row + blockIdx.x, tc = diag - tr;
    const int ld = len + 1;
    Cell *tile = cells + (size_t)pair * ld * ld + (size_t)(tr * TILE) * ld + tc * TILE;

    // halo: row above, column to the left, corner
    sh[0][lane + 1] = tile[lane + 1].h;
    sf[0][lane + 1] = tile[lane + 1].f;
    sh[lane + 1][0] = tile[(lane + 1) * ld].h;
    se[lane + 1][0] = tile[(lane + 1) * ld].e;
    if (lane == 0) sh[0][0] = tile[0].h;
    __syncwarp();

    const Residue colRes = seqB[pair * len + tc * TILE + lane];
    const Residue *rowRes = &seqA[pair * len + tr * TILE];
    for (int step = 0; step < 2 * TILE - 1; ++step) {
        const int r = step - lane;
        if (r >= 0 && r < TILE) {
            const Residue rr = rowRes[r];
            int e = max(sh[r + 1][lane] - rr.gap_open, se[r + 1][lane]) - rr.gap_extend;
            int f = max(sh[r][lane + 1] - colRes.gap_open, sf[r][lane + 1]) - colRes.gap_extend;
            int d = sh[r][lane] + sub[rr.code * ALPHABET + colRes.code].score;
            int h = d, dir = FROM_DIAG;
            if (e > h) { h = e; dir = FROM_LEFT; }
            if (f > h) { h = f; dir = FROM_UP; }
            sh[r + 1][lane + 1] = h;
            se[r + 1][lane + 1] = e;
            sf[r + 1][lane + 1] = f;
            Cell &out = tile[(r + 1) * ld + lane + 1];
            out.h = h;
            out.e = e;
            out.f = f;
            out.dir = dir;
        }
        __syncwarp();
    }
}

// A block per row: maximum score, its column, and number of diagonal moves.
__global__ void row_statistics(const Cell *cells, RowStat *stats, int len)
{
    __shared__ long long keys[128];
    __shared__ int diag[128];
    const int row = blockIdx.x, pair = blockIdx.y, t = threadIdx.x;
    const size_t ld = len + 1;
    const Cell *line = cells + ((size_t)pair * ld + row) * ld;
    long long key = -(1LL << 60);
    int count = 0;
    for (int j = t; j <= len; j += 128) {
        long long k = (long long)line[j].h * 65536 + (65535 - j);
        if (k > key) key = k;
        count += line[j].dir == FROM_DIAG;
    }
    keys[t] = key;
    diag[t] = count;
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (t < s) {
            if (keys[t + s] > keys[t]) keys[t] = keys[t + s];
            diag[t] += diag[t + s];
        }
        __syncthreads();
    }
    if (t == 0) {
        RowStat *out = &stats[pair * ld + row];
        out->arg_col = 65535 - (int)(keys[0] & 65535);
        out->max_h = (int)((keys[0] - (keys[0] & 65535)) / 65536);
        out->diag_count = diag[0];
    }
}

// Walk back from many end points at once: few threads, dependent loads.
__global__ void traceback(const Cell *cells, const Residue *seqA, const Residue *seqB,
                          SubEntry *sub, Trace *traces, int ntraces, int len)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= ntraces) return;
    Trace tr = traces[t];
    const size_t ld = len + 1;
    const Cell *m = cells + (size_t)tr.pair * ld * ld;
    int i = tr.row, j = tr.col;
    tr.length = tr.matches = tr.gaps = 0;
    tr.signature = 0;
    while (i > 0 || j > 0) {
        const Cell &c = m[(size_t)i * ld + j];
        if (c.dir == FROM_DIAG) {
            int a = seqA[tr.pair * len + i - 1].code, b = seqB[tr.pair * len + j - 1].code;
            tr.matches += a == b;
            atomicAdd(&sub[a * ALPHABET + b].used, 1u);
            --i; --j;
        } else if (c.dir == FROM_LEFT) {
            ++tr.gaps;
            --j;
        } else if (c.dir == FROM_UP) {
            ++tr.gaps;
            --i;
        } else {
            break;
        }
        tr.signature = tr.signature * 31 + c.h;
        ++tr.length;
    }
    traces[t] = tr;
}

int main(int argc, char **argv)
{
    int len = argc > 1 ? atoi(argv[1]) : 1024;
    int pairs = argc > 2 ? atoi(argv[2]) : 6;
    int repeats = argc > 3 ? atoi(argv[3]) : 3;
    len = (len < TILE ? TILE : (len > 8192 ? 8192 : len)) / TILE * TILE;
    const int tiles = len / TILE;
    const size_t ld = len + 1, ncells = (size_t)pairs * ld * ld;
    const int nres = pairs * len, ntraces = pairs * TRACES_PER_PAIR, nstats = (int)(pairs * ld);

    Residue *hA = new Residue[nres], *hB = new Residue[nres];
    SubEntry hSub[ALPHABET * ALPHABET];
    Trace *hT = new Trace[ntraces];
    RowStat *hS = new RowStat[nstats]();
    srand(7);
    for (int i = 0; i < nres; ++i) {
        hA[i].code = rand() % ALPHABET;
        hA[i].gap_open = 8 + rand() % 4;
        hA[i].gap_extend = 1 + rand() % 2;
        hA[i].weight = 1.0f;
        hB[i] = hA[i];
        if (rand() % 4 == 0) hB[i].code = rand() % ALPHABET;
        if (i > 8 && rand() % 20 == 0) hB[i].code = hA[i - 1 - rand() % 8].code;
    }
    for (int a = 0; a < ALPHABET; ++a)
        for (int b = 0; b < ALPHABET; ++b) {
            SubEntry &s = hSub[a * ALPHABET + b];
            s.score = a == b ? 5 + a % 4 : (short)(((a * 5 + b * 5 + a * b) % 7) - 5);
            s.kind = (a / 6) == (b / 6);
            s.used = 0;
        }
    for (int t = 0; t < ntraces; ++t) {
        hT[t] = Trace();
        hT[t].pair = t / TRACES_PER_PAIR;
        int k = t % TRACES_PER_PAIR;
        hT[t].row = k % 2 ? len : len - k * (len / (2 * TRACES_PER_PAIR));
        hT[t].col = k % 2 ? len - k * (len / (2 * TRACES_PER_PAIR)) : len;
    }

    Cell *dCells; Residue *dA, *dB; SubEntry *dSub; Trace *dT; RowStat *dS;
    RUN(cudaMalloc(&dCells, ncells * sizeof(Cell)));
    RUN(cudaMalloc(&dA, nres * sizeof(Residue)));
    RUN(cudaMalloc(&dB, nres * sizeof(Residue)));
    RUN(cudaMalloc(&dSub, sizeof(hSub)));
    RUN(cudaMalloc(&dT, ntraces * sizeof(Trace)));
    RUN(cudaMalloc(&dS, nstats * sizeof(RowStat)));
    RUN(cudaMemcpy(dA, hA, nres * sizeof(Residue), cudaMemcpyHostToDevice));
    RUN(cudaMemcpy(dB, hB, nres * sizeof(Residue), cudaMemcpyHostToDevice));
    RUN(cudaMemcpy(dSub, hSub, sizeof(hSub), cudaMemcpyHostToDevice));
    RUN(cudaMemcpy(dT, hT, ntraces * sizeof(Trace), cudaMemcpyHostToDevice));
    RUN(cudaMemcpy(dS, hS, nstats * sizeof(RowStat), cudaMemcpyHostToDevice));

    cudaEvent_t a, b;
    cudaEventCreate(&a);
    cudaEventCreate(&b);
    cudaEventRecord(a);
    for (int rep = 0; rep < repeats; ++rep) {
        init_borders<<<dim3((len + 256) / 256, pairs), 256>>>(dCells, dA, dB, len);
        for (int d = 0; d < 2 * tiles - 1; ++d) {
            int first = d < tiles ? 0 : d - tiles + 1;
            int last = d < tiles ? d : tiles - 1;
            fill_diagonal<<<dim3(last - first + 1, pairs), TILE>>>(dCells, dA, dB, dSub, len, d, first);
        }
        row_statistics<<<dim3(len + 1, pairs), 128>>>(dCells, dS, len);
        traceback<<<(ntraces + 31) / 32, 32>>>(dCells, dA, dB, dSub, dT, ntraces, len);
    }
    cudaEventRecord(b);
    RUN(cudaEventSynchronize(b));
    RUN(cudaGetLastError());
    float ms = 0;
    cudaEventElapsedTime(&ms, a, b);

    RUN(cudaMemcpy(hT, dT, ntraces * sizeof(Trace), cudaMemcpyDeviceToHost));
    RUN(cudaMemcpy(hS, dS, nstats * sizeof(RowStat), cudaMemcpyDeviceToHost));
    RUN(cudaMemcpy(hSub, dSub, sizeof(hSub), cudaMemcpyDeviceToHost));
    Cell corner;
    RUN(cudaMemcpy(&corner, dCells + (ncells - 1), sizeof(Cell), cudaMemcpyDeviceToHost));
    long long maxh = 0, cols = 0, diags = 0, length = 0, matches = 0, gaps = 0, used = 0, sig = 0;
    for (int s = 0; s < nstats; ++s) { maxh += hS[s].max_h; cols += hS[s].arg_col; diags += hS[s].diag_count; }
    for (int t = 0; t < ntraces; ++t) {
        length += hT[t].length; matches += hT[t].matches; gaps += hT[t].gaps;
        sig += (long long)(hT[t].signature & 0xffffff);
    }
    for (int s = 0; s < ALPHABET * ALPHABET; ++s) used += (long long)hSub[s].used * (s + 1 + hSub[s].kind);
    printf("check corner_score %d\n", corner.h);
    printf("check row_max %lld\n", maxh);
    printf("check row_cols %lld\n", cols);
    printf("check diagonals %lld\n", diags);
    printf("check trace_length %lld\n", length);
    printf("check trace_matches %lld\n", matches);
    printf("check trace_gaps %lld\n", gaps);
    printf("check signature %lld\n", sig);
    printf("check pairs_used %lld\n", used);
    printf("time_ms %.4f\n", ms);
    cudaFree(dCells); cudaFree(dA); cudaFree(dB); cudaFree(dSub); cudaFree(dT); cudaFree(dS);
    delete[] hA; delete[] hB; delete[] hT; delete[] hS;
    return 0;
}
