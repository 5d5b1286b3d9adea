// text_index.cu - query evaluation on an inverted index with BM25 scores.
//
// Postings are sorted by document within a term. A query is conjunctive on its
// rarest term ("driver") and optional on the others. Clicks of the best hits
// feed back into the static rank of the documents.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define HANDLE(e) handle((e), __FILE__, __LINE__)
static void handle(cudaError_t e, const char *file, int line)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "%s(%d): %s\n", file, line, cudaGetErrorString(e));
        exit(EXIT_FAILURE);
    }
}

constexpr int MAX_TERMS = 6, TOP_K = 4, QUERY_THREADS = 128;
constexpr float K1 = 1.2f, B = 0.75f;

enum DocFlags : uint8_t { DOC_DELETED = 1, DOC_SPAM = 2, DOC_FRESH = 4 };

struct Document {
    uint32_t id;
    int      length;
    float    norm;              // k1 * (1 - b + b * len / avg)
    float    staticRank;
    float    freshness;
    int      clicks;
    int      impressions;
    uint16_t site;
    uint8_t  lang;
    uint8_t  flags;
};

struct Term {
    int      first;
    int      df;
    float    idf;
    unsigned maxImpact;         // float bits, impacts are not negative
    uint32_t hash;
    short    stem;
    bool     stopword;
};

struct Posting {
    int            doc;
    unsigned short tf;
    unsigned short field;       // bit 0 title, bit 1 anchor
    short          pos[4];
    float          impact;
};

struct Hit { int doc; float score; };

struct Query {
    int   terms[MAX_TERMS];
    int   nTerms;
    int   lang;
    float boost[MAX_TERMS];
    int   matched;
    int   probes;
    Hit   top[TOP_K];
};

__host__ __device__ inline uint32_t fmix(uint32_t h)
{
    h ^= h >> 16; h *= 0x85ebca6bu; h ^= h >> 13; h *= 0xc2b2ae35u; h ^= h >> 16;
    return h;
}

__global__ void refreshDocuments(Document *docs, int n, float avgLen, int step)
{
    int d = blockIdx.x * blockDim.x + threadIdx.x;
    if (d >= n) return;
    Document &doc = docs[d];
    if (doc.flags & DOC_DELETED) return;
    doc.norm = K1 * (1.0f - B + B * doc.length / avgLen);
    float ctr = (doc.clicks + 1.0f) / (doc.impressions + 10.0f);
    doc.freshness *= (doc.flags & DOC_FRESH) ? 0.99f : 0.95f;
    doc.staticRank = 0.9f * doc.staticRank + 0.1f * (ctr + 0.3f * doc.freshness);
    if ((d + step) % 64 == 0) doc.freshness = 1.0f;          // was crawled again
}

// One warp per term computes the impact of all its postings.
__global__ void computeImpacts(Term *terms, int nTerms, Posting *postings, const Document *docs)
{
    int t = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
    if (t >= nTerms) return;
    const int first = terms[t].first, df = terms[t].df;
    const float idf = terms[t].idf;
    float best = 0.0f;
    for (int k = lane; k < df; k += 32) {
        Posting *p = postings + first + k;
        const Document *d = docs + p->doc;
        float tf = p->tf;
        if (p->field & 1) tf += 2.0f;
        if (p->field & 2) tf += 1.0f;
        float s = idf * tf * (K1 + 1.0f) / (tf + d->norm);
        if (d->flags & DOC_SPAM) s *= 0.25f;
        p->impact = s;
        best = fmaxf(best, s);
    }
    for (int o = 16; o > 0; o >>= 1) best = fmaxf(best, __shfl_down_sync(0xffffffffu, best, o));
    if (lane == 0) terms[t].maxImpact = __float_as_uint(best);
}

__device__ int lowerBound(const Posting *list, int n, int doc)
{
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = (lo + hi) >> 1;
        if (list[mid].doc < doc) lo = mid + 1; else hi = mid;
    }
    return lo;
}

__device__ float proximity(const Posting &a, const Posting &b)
{
    int best = 1000;
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            if (a.pos[i] >= 0 && b.pos[j] >= 0) best = min(best, abs(a.pos[i] - b.pos[j]));
    return best < 50 ? 0.5f / (1.0f + best) : 0.0f;
}

// One block per query; the best TOP_K documents by (score, document).
__global__ void evaluate(Query *queries, const Term *terms, const Posting *postings, const Document *docs)
{
    __shared__ unsigned long long winner;
    __shared__ int matched, probes;
    Query &q = queries[blockIdx.x];
    if (threadIdx.x == 0) { matched = 0; probes = 0; }
    int driver = 0;
    for (int k = 1; k < q.nTerms; ++k)
        if (terms[q.terms[k]].df < terms[q.terms[driver]].df) driver = k;
    const Term dt = terms[q.terms[driver]];
    __syncthreads();

    unsigned long long best[TOP_K] = {0, 0, 0, 0};
    int myMatched = 0, myProbes = 0;
    for (int k = threadIdx.x; k < dt.df; k += blockDim.x) {
        const Posting &p = postings[dt.first + k];
        const Document &doc = docs[p.doc];
        if ((doc.flags & DOC_DELETED) || (q.lang >= 0 && doc.lang != q.lang)) continue;
        float score = q.boost[driver] * p.impact + doc.staticRank;
        for (int j = 0; j < q.nTerms; ++j) {
            if (j == driver) continue;
            const Term &t = terms[q.terms[j]];
            if (t.stopword || q.boost[j] * __uint_as_float(t.maxImpact) < 0.05f) continue;
            int at = lowerBound(postings + t.first, t.df, p.doc);
            myProbes++;
            if (at < t.df && postings[t.first + at].doc == p.doc) {
                const Posting &o = postings[t.first + at];
                score += q.boost[j] * o.impact + proximity(p, o);
            }
        }
        myMatched++;
        unsigned long long key = ((unsigned long long)__float_as_uint(score) << 32) | (unsigned)p.doc;
        for (int s = 0; s < TOP_K; ++s)
            if (key > best[s]) { unsigned long long x = best[s]; best[s] = key; key = x; }
    }
    atomicAdd(&matched, myMatched);
    atomicAdd(&probes, myProbes);
    for (int r = 0; r < TOP_K; ++r) {
        if (threadIdx.x == 0) winner = 0;
        __syncthreads();
        if (best[0]) atomicMax(&winner, best[0]);
        __syncthreads();
        unsigned long long w = winner;
        if (w && best[0] == w) {                        // documents are unique in a list
            for (int s = 0; s + 1 < TOP_K; ++s) best[s] = best[s + 1];
            best[TOP_K - 1] = 0;
        }
        if (threadIdx.x == 0) q.top[r] = w ? Hit{(int)(w & 0xffffffffu), __uint_as_float((unsigned)(w >> 32))} : Hit{-1, 0.0f};
        __syncthreads();
    }
    if (threadIdx.x == 0) { q.matched = matched; q.probes += probes; }
}

__global__ void feedback(const Query *queries, int n, Document *docs, int step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * TOP_K) return;
    const Hit h = queries[i / TOP_K].top[i % TOP_K];
    if (h.doc < 0) return;
    atomicAdd(&docs[h.doc].impressions, 1);
    if (fmix(i * 31 + step) % (2 + 2 * (i % TOP_K)) == 0) atomicAdd(&docs[h.doc].clicks, 1);
}

int main(int argc, char **argv)
{
    const int nDocs = argc > 1 ? std::max(2000, atoi(argv[1])) : 500000;
    const int nTerms = nDocs / 8, nQueries = 3000, steps = 25;

    std::vector<Document> docs(nDocs);
    double lenSum = 0;
    for (int d = 0; d < nDocs; ++d) {
        uint32_t h = fmix(d + 1);
        Document &x = docs[d];
        x.id = h;
        x.length = 50 + h % 900;
        x.norm = K1;
        x.staticRank = 0.1f * ((h >> 10) & 7);
        x.freshness = ((h >> 13) & 255) / 256.0f;
        x.clicks = 0; x.impressions = 0;
        x.site = (uint16_t)(h >> 16);
        x.lang = (uint8_t)((h >> 21) % 4 == 0 ? 1 : 0);
        x.flags = (uint8_t)((h % 40 == 0 ? DOC_DELETED : 0) | (h % 23 == 0 ? DOC_SPAM : 0) | (h % 7 == 0 ? DOC_FRESH : 0));
        lenSum += x.length;
    }
    std::vector<Term> terms(nTerms);
    std::vector<Posting> postings;
    postings.reserve((size_t)nDocs * 14);
    for (int t = 0; t < nTerms; ++t) {
        uint32_t h = fmix(t * 7 + 5);
        int want = (int)(1.5 * nDocs / (t + 20.0)) + 2;                 // Zipf like
        int gap = std::max(1, nDocs / want);
        Term &x = terms[t];
        x = Term{};
        x.first = (int)postings.size();
        x.hash = h;
        x.stem = (short)(h % 3000);
        x.stopword = t < 3;
        for (int d = (int)(h % gap), k = 0; d < nDocs; ++k) {
            uint32_t g = fmix(h + k);
            Posting p;
            p.doc = d;
            p.tf = (unsigned short)(1 + g % 3 + (g % 50 == 0 ? 6 : 0));
            p.field = (unsigned short)((g >> 8) % 20 == 0 ? 1 : (g >> 8) % 15 == 0 ? 2 : 0);
            for (int j = 0; j < 4; ++j) p.pos[j] = j < p.tf ? (short)(fmix(g + j) % docs[d].length) : (short)-1;
            p.impact = 0.0f;
            postings.push_back(p);
            d += 1 + (int)((g >> 4) % (2 * gap));
        }
        x.df = (int)postings.size() - x.first;
        x.idf = logf(1.0f + (nDocs - x.df + 0.5f) / (x.df + 0.5f));
    }
    std::vector<Query> queries(nQueries);
    for (int i = 0; i < nQueries; ++i) {
        uint32_t h = fmix(i + 40001);
        Query &q = queries[i];
        q = Query{};
        q.nTerms = 2 + h % (MAX_TERMS - 1);
        q.lang = h % 5 == 0 ? 1 : -1;
        for (int j = 0; j < q.nTerms; ++j) {
            double u = (fmix(h + 17 * j) >> 8) / 16777216.0;
            q.terms[j] = std::min(nTerms - 1, (int)(pow((double)nTerms, u)) - 1 + (j == 0 ? 100 : 0));
            q.boost[j] = 1.0f + 0.25f * (j == 0);
        }
    }

    Document *dDocs; Term *dTerms; Posting *dPost; Query *dQ;
    HANDLE(cudaMalloc(&dDocs, docs.size() * sizeof(Document)));
    HANDLE(cudaMalloc(&dTerms, terms.size() * sizeof(Term)));
    HANDLE(cudaMalloc(&dPost, postings.size() * sizeof(Posting)));
    HANDLE(cudaMalloc(&dQ, queries.size() * sizeof(Query)));
    HANDLE(cudaMemcpy(dDocs, docs.data(), docs.size() * sizeof(Document), cudaMemcpyHostToDevice));
    HANDLE(cudaMemcpy(dTerms, terms.data(), terms.size() * sizeof(Term), cudaMemcpyHostToDevice));
    HANDLE(cudaMemcpy(dPost, postings.data(), postings.size() * sizeof(Posting), cudaMemcpyHostToDevice));
    HANDLE(cudaMemcpy(dQ, queries.data(), queries.size() * sizeof(Query), cudaMemcpyHostToDevice));

    cudaEvent_t start, stop;
    HANDLE(cudaEventCreate(&start));
    HANDLE(cudaEventCreate(&stop));
    for (int s = 0; s <= steps; ++s) {
        if (s == 1) HANDLE(cudaEventRecord(start));
        refreshDocuments<<<(nDocs + 255) / 256, 256>>>(dDocs, nDocs, (float)(lenSum / nDocs), s);
        computeImpacts<<<(nTerms + 7) / 8, 256>>>(dTerms, nTerms, dPost, dDocs);
        evaluate<<<nQueries, QUERY_THREADS>>>(dQ, dTerms, dPost, dDocs);
        feedback<<<(nQueries * TOP_K + 127) / 128, 128>>>(dQ, nQueries, dDocs, s);
    }
    HANDLE(cudaEventRecord(stop));
    HANDLE(cudaGetLastError());
    HANDLE(cudaEventSynchronize(stop));
    float ms = 0.0f;
    HANDLE(cudaEventElapsedTime(&ms, start, stop));
    HANDLE(cudaMemcpy(docs.data(), dDocs, docs.size() * sizeof(Document), cudaMemcpyDeviceToHost));
    HANDLE(cudaMemcpy(postings.data(), dPost, postings.size() * sizeof(Posting), cudaMemcpyDeviceToHost));
    HANDLE(cudaMemcpy(queries.data(), dQ, queries.size() * sizeof(Query), cudaMemcpyDeviceToHost));
    long long clicks = 0, shown = 0, matched = 0, probes = 0;
    double rank = 0, impact = 0, score = 0;
    for (const auto &d : docs) { clicks += d.clicks; shown += d.impressions; rank += d.staticRank; }
    for (const auto &p : postings) impact += p.impact;
    for (const auto &q : queries) { matched += q.matched; probes += q.probes; for (const Hit &h : q.top) score += h.score; }
    printf("check %lld/%lld/%lld/%lld/%.5g/%.5g/%.5g\n", clicks, shown, matched, probes, rank, impact, score);
    printf("time_ms %.4f\n", ms / steps);
    HANDLE(cudaFree(dDocs)); HANDLE(cudaFree(dTerms)); HANDLE(cudaFree(dPost)); HANDLE(cudaFree(dQ));
    return 0;
}
