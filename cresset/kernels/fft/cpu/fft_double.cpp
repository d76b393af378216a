#include "cresset/kernels/fft/cpu/fft_rows.h"

namespace cresset::kernels::CRESSET_ISA {

using Number = double;

int fft_lanes_double() { return kLanes<Number>; }
void fft_row_double(const FftRowPlan<Number>& plan, const Number* in, Number* out, Number scale, bool inverse, Number* work) {
  one_row<Number>(plan, in, out, scale, inverse, work);
}
void fft_columns_double(const FftRowPlan<Number>& plan, const Number* in, Number* middle, bool inverse, int64_t begin, int64_t end, Number* scratch) {
  columns_any<Number>(plan, in, middle, inverse, begin, end, scratch);
}
void fft_rows_double(const FftRowPlan<Number>& plan, const Number* middle, Number* out, Number scale, bool inverse, int64_t begin, int64_t end,
                     Number* scratch) {
  rows_any<Number>(plan, middle, out, scale, inverse, begin, end, scratch);
}
void fft_lane_rows_double(const FftLanes<Number>& rows, Number* scratch) { lane_rows<Number>(rows, scratch); }
void fft_untangle_double(const Number* z, Number* x, int64_t h, const Number* roots, Number scale) { untangle_row<Number>(z, x, h, roots, scale); }
void fft_tangle_double(const Number* x, Number* z, int64_t h, const Number* roots, Number scale) { tangle_row<Number>(x, z, h, roots, scale); }

}  // namespace cresset::kernels::CRESSET_ISA
