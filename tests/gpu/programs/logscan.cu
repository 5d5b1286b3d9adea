/*
 * logscan - web server log analysis on the GPU.  Lines have been split into fixed size records.  Per step: hash the path up to
 * the query string, apply the first matching rule, collect sessions, status
 * histogram.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_LEN   36
#define NRULES     40
#define NSTATUS    64
#define STEPS      20
#define BLOCK      256

typedef struct log_line {
    unsigned int   ts;
    unsigned int   ip;
    unsigned short status;
    unsigned char  method;
    unsigned char  level;
    unsigned int   bytes;
    unsigned int   latency;          /* microseconds */
    int            session;
    unsigned int   path_hash;
    char           path[PATH_LEN];
} log_line_t;

typedef struct session {
    unsigned int       first_ts;
    unsigned int       last_ts;
    unsigned int       hits;
    unsigned int       errors;
    unsigned long long bytes;
    unsigned int       slowest;
    unsigned int       rules;        /* bit set of the actions seen */
} session_t;

typedef struct rule {
    char         prefix[16];
    int          len;
    int          method;             /* -1: any */
    int          action;
    unsigned int hits;
} rule_t;

#define CUDA(x) cuda_check((x), #x, __LINE__)

static void cuda_check(cudaError_t e, const char *expr, int line)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "line %d: %s: %s\n", line, expr, cudaGetErrorString(e));
        exit(2);
    }
}

__global__ void hash_paths(log_line_t *lines, int n, unsigned int salt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int h = 2166136261u ^ salt;
    int k;

    if (i >= n)
        return;
    for (k = 0; k < PATH_LEN; k++) {
        char ch = lines[i].path[k];
        if (ch == 0 || ch == '?')
            break;
        h = (h ^ (unsigned char)ch) * 16777619u;
    }
    lines[i].path_hash = h;
}

__device__ int prefix_matches(const char *path, const rule_t *r)
{
    int k;

    for (k = 0; k < r->len && path[k] == r->prefix[k]; k++)
        ;
    return k == r->len;
}

__global__ void apply_rules(log_line_t *lines, int n, rule_t *rules, session_t *sessions)
{
    __shared__ unsigned int count[NRULES];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int r;

    for (r = threadIdx.x; r < NRULES; r += blockDim.x)
        count[r] = 0;
    __syncthreads();

    if (i < n) {
        const log_line_t *l = lines + i;
        for (r = 0; r < NRULES; r++) {
            if (rules[r].method >= 0 && rules[r].method != l->method)
                continue;
            if (prefix_matches(l->path, &rules[r])) {
                atomicAdd(&count[r], 1u);
                lines[i].level = (unsigned char)rules[r].action;
                atomicOr(&sessions[l->session].rules, 1u << (rules[r].action & 31));
                break;
            }
        }
    }
    __syncthreads();

    for (r = threadIdx.x; r < NRULES; r += blockDim.x)
        if (count[r])
            atomicAdd(&rules[r].hits, count[r]);
}

__global__ void reset_sessions(session_t *s, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        s[i].first_ts = 0xffffffffu;
        s[i].last_ts = 0;
        s[i].hits = 0;
        s[i].errors = 0;
        s[i].bytes = 0;
        s[i].slowest = 0;
    }
}

__global__ void collect_sessions(const log_line_t *lines, int n, session_t *sessions)
{
    int i;

    for (i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        session_t *s = &sessions[lines[i].session];
        atomicMin(&s->first_ts, lines[i].ts);
        atomicMax(&s->last_ts, lines[i].ts);
        atomicAdd(&s->hits, 1u);
        if (lines[i].status >= 400)
            atomicAdd(&s->errors, 1u);
        atomicAdd(&s->bytes, (unsigned long long)lines[i].bytes);
        if (lines[i].latency > 2000)
            atomicMax(&s->slowest, lines[i].latency);
    }
}

/* counts with one shared atomic per distinct status in the warp */
__global__ void status_histogram(const log_line_t *lines, int n, unsigned int *hist)
{
    __shared__ unsigned int h[NSTATUS];
    int i, lane = threadIdx.x & 31;

    if (threadIdx.x < NSTATUS)
        h[threadIdx.x] = 0;
    __syncthreads();
    for (i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned int active = __activemask();
        unsigned int bin = (lines[i].status / 10) % NSTATUS;
        unsigned int same = __match_any_sync(active, bin);
        if (lane == __ffs(same) - 1)
            atomicAdd(&h[bin], (unsigned int)__popc(same));
    }
    __syncthreads();
    if (threadIdx.x < NSTATUS && h[threadIdx.x])
        atomicAdd(&hist[threadIdx.x], h[threadIdx.x]);
}

static unsigned int seed = 20240601u;

static unsigned int rnd(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed;
}

static const char *roots[] = {
    "/index.html", "/static/css/", "/static/js/", "/img/", "/api/v1/users/", "/api/v1/orders/",
    "/api/v2/cart/", "/login", "/logout", "/search", "/admin/", "/wp-login.php",
    "/health", "/feed.xml", "/blog/2023/", "/blog/2024/"
};

static void make_lines(log_line_t *lines, int n, int nsessions)
{
    static const unsigned short statuses[16] = {
        200, 200, 200, 200, 200, 200, 200, 200, 200, 304, 304, 302, 404, 404, 403, 500
    };
    int i, len;

    for (i = 0; i < n; i++) {
        log_line_t *l = &lines[i];
        unsigned int r = rnd(), q = rnd();
        const char *root = roots[(r & 15) < 9 ? (r >> 4) % 6 : (r >> 4) % 16];
        double u = (q & 0xffff) / 65536.0;

        memset(l, 0, sizeof *l);
        l->ts = 1700000000u + i / 50;
        l->session = (int)(u * u * u * (nsessions - 1));      /* crawlers */
        l->ip = (unsigned int)l->session * 2654435761u;
        l->status = statuses[(q >> 16) & 15];
        l->method = (r >> 9) % 8 == 0;
        l->bytes = 200 + (r >> 12) % 60000;
        l->latency = 100 + (q >> 20) * ((r >> 28) + 1) / 4;
        len = (int)strlen(root);
        memcpy(l->path, root, len);
        r = rnd();
        while (len < PATH_LEN - 1 && r > 3) {
            l->path[len++] = (r & 63) == 7 ? '?' : "abcdefghijklmnopqrstuvwxyz012345"[r & 31];
            r >>= 2 + (r & 1);
        }
    }
}

static void make_rules(rule_t *rules)
{
    int i, len;

    memset(rules, 0, NRULES * sizeof *rules);
    for (i = 0; i < NRULES; i++) {
        const char *root = roots[(i * 7 + 3) % 16];
        len = (int)strlen(root);
        len = len > 14 ? 14 : len;
        memcpy(rules[i].prefix, root, len);
        if (i < NRULES - 12)
            rules[i].prefix[len++] = "aeiostn345"[i % 10];
        rules[i].len = len;
        rules[i].method = i % 5 == 0 ? (i / 5) % 2 : -1;
        rules[i].action = 1 + i % 9;
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1600000;
    int ns = n / 12 + 1;
    int blocks = (n + BLOCK - 1) / BLOCK;
    int i, s;
    float ms;
    unsigned long long check = 0;
    unsigned int hist[NSTATUS];
    rule_t rules[NRULES];
    log_line_t *lines = (log_line_t *)malloc(n * sizeof(log_line_t));
    session_t *sessions = (session_t *)malloc(ns * sizeof(session_t));
    log_line_t *d_lines;
    session_t *d_sessions;
    rule_t *d_rules;
    unsigned int *d_hist;
    cudaEvent_t ev[2];

    make_lines(lines, n, ns);
    make_rules(rules);

    CUDA(cudaMalloc((void **)&d_lines, n * sizeof(log_line_t)));
    CUDA(cudaMalloc((void **)&d_sessions, ns * sizeof(session_t)));
    CUDA(cudaMalloc((void **)&d_rules, sizeof rules));
    CUDA(cudaMalloc((void **)&d_hist, sizeof hist));
    CUDA(cudaMemcpy(d_lines, lines, n * sizeof(log_line_t), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(d_rules, rules, sizeof rules, cudaMemcpyHostToDevice));
    CUDA(cudaMemset(d_sessions, 0, ns * sizeof(session_t)));
    CUDA(cudaMemset(d_hist, 0, sizeof hist));
    CUDA(cudaEventCreate(&ev[0]));
    CUDA(cudaEventCreate(&ev[1]));

    for (s = -1; s < STEPS; s++) {
        if (s == 0)
            CUDA(cudaEventRecord(ev[0], 0));
        hash_paths<<<blocks, BLOCK>>>(d_lines, n, (unsigned int)s);
        apply_rules<<<blocks, BLOCK>>>(d_lines, n, d_rules, d_sessions);
        reset_sessions<<<(ns + BLOCK - 1) / BLOCK, BLOCK>>>(d_sessions, ns);
        collect_sessions<<<1056, BLOCK>>>(d_lines, n, d_sessions);
        status_histogram<<<528, BLOCK>>>(d_lines, n, d_hist);
    }
    CUDA(cudaEventRecord(ev[1], 0));
    CUDA(cudaEventSynchronize(ev[1]));
    CUDA(cudaGetLastError());
    CUDA(cudaEventElapsedTime(&ms, ev[0], ev[1]));

    CUDA(cudaMemcpy(lines, d_lines, n * sizeof(log_line_t), cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(sessions, d_sessions, ns * sizeof(session_t), cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(rules, d_rules, sizeof rules, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(hist, d_hist, sizeof hist, cudaMemcpyDeviceToHost));

    for (i = 0; i < n; i++)
        check += (lines[i].path_hash ^ lines[i].level) % 65521u;
    for (i = 0; i < ns; i++)
        check += sessions[i].last_ts - sessions[i].first_ts * (sessions[i].hits != 0)
               + sessions[i].hits * 3u + sessions[i].errors * 7u + sessions[i].bytes
               + sessions[i].slowest + sessions[i].rules;
    for (i = 0; i < NRULES; i++)
        check = check * 3u + rules[i].hits;
    for (i = 0; i < NSTATUS; i++)
        check += (unsigned long long)hist[i] * (i + 1);

    CUDA(cudaFree(d_lines));
    CUDA(cudaFree(d_sessions));
    free(lines);
    free(sessions);
    printf("check %llu\n", check);
    printf("time_ms %.4f\n", ms / STEPS);
    return 0;
}
