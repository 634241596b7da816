#pragma once
/// Matrix products that were timed one by one on a chip, by their shape.
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/csv_table.hpp"
#include "sim/core/units.hpp"
#include "topologies/chips/precision.hpp"

namespace lockstep::topologies {

/// `batch` products at once, each m x k by k x n.
struct ProductShape {
  Precision precision = Precision::bf16;
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  friend auto operator<=>(const ProductShape&, const ProductShape&) = default;
  [[nodiscard]] std::string to_string() const;  ///< "8192 x 1024 x 4096 in bf16", m x n x k; several: "8 of ..."
};

struct TimedProduct {
  ProductShape shape;
  Seconds time{0};
  Location where;
};

/// Whether a table has the columns of products, with or without those of other kernels.
[[nodiscard]] bool has_product_shapes(const CsvTable& table);
/// Rows of a table as people publish them: m, n, k (or M, N, K), batch (or b), precision (or dtype), and one of
/// seconds, ms, us, tflops. Where there is a column `kernel`, only rows of products; where there is a column `chip`,
/// only rows of `chip` (all of them if it is ""). Problems go to the table's sink.
[[nodiscard]] std::vector<TimedProduct> read_timed_products(const CsvTable& table, const std::string& chip = "");

/// The times by shape. Shapes that were timed several times have the mean of their times.
class MeasuredProducts {
 public:
  MeasuredProducts() = default;
  explicit MeasuredProducts(const std::vector<TimedProduct>& products);
  /// The time of that product, or of its transposed (n and m swapped), which is the same work; none if neither was
  /// timed.
  [[nodiscard]] std::optional<Seconds> time_of(const ProductShape& shape) const;
  [[nodiscard]] std::size_t size() const { return times_.size(); }
  friend bool operator==(const MeasuredProducts&, const MeasuredProducts&) = default;

 private:
  std::map<ProductShape, Seconds> times_;
};

}  // namespace lockstep::topologies
