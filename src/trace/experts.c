#include "trace/experts.h"

#include <math.h>

sl_expert_load sl_expert_load_of(const uint64_t *picks, size_t n)
{
    sl_expert_load l = { 0 };
    for (size_t e = 0; e < n; e++) {
        l.picks += picks[e];
        l.used += picks[e] > 0;
        if (picks[e] > picks[l.most])
            l.most = e;
    }
    for (size_t e = 0; e < n && l.picks; e++) {
        const double share = (double)picks[e] / (double)l.picks;
        if (picks[e])
            l.entropy -= share * log2(share);
    }
    l.entropy = fmax(l.entropy, 0.0); /* not -0 */
    if (l.picks)
        l.most_share = (double)picks[l.most] / (double)l.picks;
    return l;
}
