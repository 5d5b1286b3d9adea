/* Rating lists of a chess federation: every period the games of that period
 * are rated, the changes are applied to the players, and a club table is made. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime.h>

#define PERIODS   8
#define CLUBS     256
#define STEPS     48

typedef struct {
    unsigned int   fideId;
    int            rating;       /* 1/100 Elo */
    int            pending;      /* change collected in this period, 1/100 Elo */
    int            peak;
    int            games;
    int            halfPoints;
    unsigned short club;
    short          birthYear;
    unsigned char  title;
    unsigned char  kfactor;
    unsigned char  inactive;     /* periods without a game */
    unsigned char  flags;
    int            periodGames;
    float          form;
} Player;

typedef struct {
    int            white;
    int            black;
    unsigned char  result;       /* 0 loss, 1 draw, 2 win of white */
    unsigned char  round;
    unsigned short plies;
    float          surprise;
} Game;

typedef struct {
    unsigned long long ratingSum;
    unsigned int       players;
    int                best;
    unsigned int       titled;
} ClubRow;

#define CHECK(call)                                                              \
    do {                                                                         \
        cudaError_t err_ = (call);                                               \
        if (err_ != cudaSuccess) {                                               \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err_)); \
            exit(EXIT_FAILURE);                                                  \
        }                                                                        \
    } while (0)

__device__ static float expectedScore(int own, int other)
{
    int diff = other - own;
    if (diff > 40000) diff = 40000;          /* the 400 point rule */
    if (diff < -40000) diff = -40000;
    return 1.0f / (1.0f + exp10f(diff / 40000.0f));
}

__global__ void rateGames(Game *games, int count, Player *players)
{
    int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= count) return;
    int w = games[g].white, b = games[g].black;
    int result = games[g].result;

    /* the first move is worth about 35 points */
    float ew = expectedScore(players[w].rating + 3500, players[b].rating);
    float gain = 0.5f * result - ew;
    int dw = __float2int_rn(gain * players[w].kfactor * 100.0f);
    int db = __float2int_rn(-gain * players[b].kfactor * 100.0f);
    atomicAdd(&players[w].pending, dw);
    atomicAdd(&players[b].pending, db);
    atomicAdd(&players[w].periodGames, 1);
    atomicAdd(&players[b].periodGames, 1);
    atomicAdd(&players[w].halfPoints, result);
    atomicAdd(&players[b].halfPoints, 2 - result);
    games[g].surprise = fabsf(gain);
}

__global__ void closePeriod(Player *players, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int played = players[i].periodGames;
    if (played == 0) {
        unsigned char idle = players[i].inactive;
        players[i].inactive = idle < 250 ? idle + 1 : idle;
        players[i].form *= 0.5f;
        return;
    }
    int change = players[i].pending;
    int limit = 700 * players[i].kfactor;    /* K times n is capped at 700 */
    change = change > limit ? limit : (change < -limit ? -limit : change);
    int rating = players[i].rating + change;
    if (rating < 100000) rating = 100000;
    players[i].rating = rating;
    if (rating > players[i].peak) players[i].peak = rating;
    players[i].form = 0.5f * players[i].form + 0.5f * (float)change / played;
    players[i].games += played;
    if (rating > 240000 && players[i].kfactor > 10) players[i].kfactor = 10;
    else if (players[i].games > 60 && players[i].kfactor > 20) players[i].kfactor = 20;
    players[i].pending = 0;
    players[i].periodGames = 0;
    players[i].inactive = 0;
}

__global__ void clubTable(const Player *players, int n, ClubRow *table)
{
    __shared__ unsigned long long sum[CLUBS];
    __shared__ unsigned int members[CLUBS];
    __shared__ int best[CLUBS];
    for (int c = threadIdx.x; c < CLUBS; c += blockDim.x) {
        sum[c] = 0;
        members[c] = 0;
        best[c] = 0;
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (players[i].inactive > 2) continue;
        int c = players[i].club;
        int r = players[i].rating;
        atomicAdd(&sum[c], (unsigned long long)r);
        atomicAdd(&members[c], 1u);
        atomicMax(&best[c], r);
        if (players[i].title >= 6) atomicAdd(&table[c].titled, 1u);
    }
    __syncthreads();
    for (int c = threadIdx.x; c < CLUBS; c += blockDim.x) {
        if (members[c] == 0) continue;
        atomicAdd(&table[c].ratingSum, sum[c]);
        atomicAdd(&table[c].players, members[c]);
        atomicMax(&table[c].best, best[c]);
    }
}

static unsigned int lcg(unsigned int *s)
{
    *s = *s * 1664525u + 1013904223u;
    return *s >> 7;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1000000;
    if (n < 2) n = 2;
    int perPeriod = 2 * n;
    size_t gameCount = (size_t)perPeriod * PERIODS;
    Player *players = (Player *)malloc(n * sizeof(Player));
    Game *games = (Game *)malloc(gameCount * sizeof(Game));
    if (!players || !games) return 1;

    unsigned int seed = 20240229u;
    for (int i = 0; i < n; i++) {
        Player *p = &players[i];
        memset(p, 0, sizeof *p);
        unsigned int r = lcg(&seed);
        p->fideId = 4000000u + i;
        p->rating = 110000 + (int)(lcg(&seed) % 70000u) + (int)(lcg(&seed) % 70000u);
        p->peak = p->rating;
        p->club = (unsigned short)(r % CLUBS);
        p->birthYear = (short)(1940 + (r >> 8) % 75u);
        p->title = (unsigned char)(p->rating > 220000 ? 6 + (r >> 15) % 3u : (r >> 15) % 6u);
        p->kfactor = p->birthYear > 2006 ? 40 : 20;
        p->games = (int)((r >> 5) % 90u);
    }
    for (size_t g = 0; g < gameCount; g++) {
        unsigned int r = lcg(&seed);
        games[g].white = (int)(lcg(&seed) % (unsigned)n);
        /* opponents are often of the same neighbourhood in the list */
        games[g].black = (r & 3) ? (games[g].white + 1 + (int)(r >> 2) % 500) % n : (int)(lcg(&seed) % (unsigned)n);
        if (games[g].black == games[g].white) games[g].black = (games[g].white + 1) % n;
        int dr = (players[games[g].white].rating - players[games[g].black].rating) / 2000;
        int draw = (int)((r >> 12) % 100u);
        games[g].result = (unsigned char)(draw < 30 ? 1 : (draw < 65 + dr ? 2 : 0));
        games[g].round = (unsigned char)(r % 9u);
        games[g].plies = (unsigned short)(20 + r % 120u);
        games[g].surprise = 0.0f;
    }

    Player *d_players;
    Game *d_games;
    ClubRow *d_table;
    CHECK(cudaMalloc((void **)&d_players, n * sizeof(Player)));
    CHECK(cudaMalloc((void **)&d_games, gameCount * sizeof(Game)));
    CHECK(cudaMalloc((void **)&d_table, CLUBS * sizeof(ClubRow)));
    CHECK(cudaMemcpy(d_players, players, n * sizeof(Player), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_games, games, gameCount * sizeof(Game), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(d_table, 0, CLUBS * sizeof(ClubRow)));

    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    for (int s = 0; s <= STEPS; s++) {
        if (s == 1) CHECK(cudaEventRecord(start));
        size_t first = (size_t)(s % PERIODS) * perPeriod;
        rateGames<<<(perPeriod + 255) / 256, 256>>>(d_games + first, perPeriod, d_players);
        closePeriod<<<(n + 255) / 256, 256>>>(d_players, n);
        clubTable<<<264, 512>>>(d_players, n, d_table);
    }
    CHECK(cudaEventRecord(stop));
    CHECK(cudaGetLastError());
    CHECK(cudaEventSynchronize(stop));
    float ms = 0.0f;
    CHECK(cudaEventElapsedTime(&ms, start, stop));

    ClubRow table[CLUBS];
    CHECK(cudaMemcpy(players, d_players, n * sizeof(Player), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(games, d_games, gameCount * sizeof(Game), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(table, d_table, sizeof table, cudaMemcpyDeviceToHost));
    unsigned long long check = 0;
    for (int i = 0; i < n; i++)
        check = check * 31 + (unsigned)players[i].rating + 3u * players[i].peak + 5u * players[i].halfPoints +
                7u * players[i].games + players[i].inactive + players[i].kfactor;
    for (int c = 0; c < CLUBS; c++)
        check = check * 131 + table[c].ratingSum + table[c].players + table[c].best + table[c].titled;
    double surprise = 0.0;
    for (size_t g = 0; g < gameCount; g++) surprise += games[g].surprise;
    printf("time_ms %.5f\n", ms / STEPS);
    printf("check %llu_%.4e\n", check, surprise);
    CHECK(cudaFree(d_players));
    CHECK(cudaFree(d_games));
    CHECK(cudaFree(d_table));
    free(players);
    free(games);
    return 0;
}
