#pragma once
/// Containers that say what they are indexed by: `Indexed<RankId, StageId> stage_of_rank` holds a StageId for each
/// RankId. They take an id as it is, signed or an enum, and compile to the same code as a vector or array.
#include <array>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

namespace lockstep {

template <class T>
inline constexpr bool is_whole_number = std::is_integral_v<T> || (std::is_enum_v<T> && std::is_convertible_v<T, int>);
/// An integer, or an enumerator that passes for one.
template <class T>
concept WholeNumber = is_whole_number<T>;

template <class Id, class Index>
inline constexpr bool may_index = std::is_same_v<Id, Index> || (is_whole_number<Id> && std::is_integral_v<Index>);
/// An Id may stand between the brackets of a container indexed by Index. Ids that are integers are often computed, so
/// any integer may; where Index is an enum class, only an Index may.
template <class Id, class Index>
concept Indexes = may_index<Id, Index>;

/// Position 0 .. n-1 of the entry of an id.
template <class Id>
[[nodiscard]] constexpr std::size_t position_of(Id id) {
  static_assert(std::is_integral_v<Id> || std::is_enum_v<Id>);
  return static_cast<std::size_t>(id);
}

/// The ids from 0 up to, not including, an end.
template <class Index>
class Ids {
 public:
  class iterator {
   public:
    using value_type = Index;
    using difference_type = std::ptrdiff_t;
    constexpr iterator() = default;
    constexpr explicit iterator(std::size_t position) : position_(position) {}
    [[nodiscard]] constexpr Index operator*() const { return static_cast<Index>(position_); }
    constexpr iterator& operator++() {
      ++position_;
      return *this;
    }
    constexpr iterator operator++(int) { return std::exchange(*this, iterator(position_ + 1)); }
    friend constexpr bool operator==(iterator, iterator) = default;

   private:
    std::size_t position_ = 0;
  };
  constexpr explicit Ids(std::size_t end) : end_(end) {}
  [[nodiscard]] constexpr iterator begin() const { return iterator(0); }
  [[nodiscard]] constexpr iterator end() const { return iterator(end_); }

 private:
  std::size_t end_;
};

/// A vector with an entry for each id from 0 on.
template <class Index, class T>
class Indexed {
 public:
  using Values = std::vector<T>;
  using value_type = typename Values::value_type;
  using size_type = typename Values::size_type;
  using difference_type = typename Values::difference_type;
  using reference = typename Values::reference;
  using const_reference = typename Values::const_reference;
  using iterator = typename Values::iterator;
  using const_iterator = typename Values::const_iterator;

  Indexed() = default;
  Indexed(std::initializer_list<T> values) : values_(values) {}
  Indexed(Values&& values) : values_(std::move(values)) {}  // NOLINT: a new list gets its index where it is kept
  explicit Indexed(WholeNumber auto count) : values_(position_of(count)) {}
  Indexed(WholeNumber auto count, const T& value) : values_(position_of(count), value) {}
  template <std::input_iterator Iterator>
  Indexed(Iterator begin, Iterator end) : values_(begin, end) {}

  template <Indexes<Index> Id>
  [[nodiscard]] reference operator[](Id id) {
    return values_[position_of(id)];
  }
  template <Indexes<Index> Id>
  [[nodiscard]] const_reference operator[](Id id) const {
    return values_[position_of(id)];
  }
  /// The entry of an id that may be none; throws std::out_of_range then.
  template <Indexes<Index> Id>
  [[nodiscard]] const_reference at(Id id) const {
    return values_.at(position_of(id));
  }
  /// Whether there is an entry for this id; a negative id has none.
  template <Indexes<Index> Id>
  [[nodiscard]] bool contains(Id id) const {
    return position_of(id) < values_.size();
  }
  [[nodiscard]] Ids<Index> ids() const { return Ids<Index>(values_.size()); }
  /// The id that the next entry will have.
  [[nodiscard]] Index next_id() const { return static_cast<Index>(values_.size()); }

  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  /// The size as the number that ids are.
  [[nodiscard]] auto count() const {
    if constexpr (std::is_enum_v<Index>)
      return static_cast<std::underlying_type_t<Index>>(values_.size());
    else
      return static_cast<Index>(values_.size());
  }
  [[nodiscard]] auto data() { return values_.data(); }
  [[nodiscard]] auto data() const { return values_.data(); }
  [[nodiscard]] auto begin() { return values_.begin(); }
  [[nodiscard]] auto begin() const { return values_.begin(); }
  [[nodiscard]] auto end() { return values_.end(); }
  [[nodiscard]] auto end() const { return values_.end(); }
  [[nodiscard]] auto rbegin() { return values_.rbegin(); }
  [[nodiscard]] auto rbegin() const { return values_.rbegin(); }
  [[nodiscard]] auto rend() { return values_.rend(); }
  [[nodiscard]] auto rend() const { return values_.rend(); }
  [[nodiscard]] reference front() { return values_.front(); }
  [[nodiscard]] const_reference front() const { return values_.front(); }
  [[nodiscard]] reference back() { return values_.back(); }
  [[nodiscard]] const_reference back() const { return values_.back(); }
  /// The entries for code to which an index says nothing.
  operator const Values&() const& { return values_; }
  operator Values() && { return std::move(values_); }

  void reserve(WholeNumber auto count) { values_.reserve(position_of(count)); }
  void resize(WholeNumber auto count) { values_.resize(position_of(count)); }
  void resize(WholeNumber auto count, const T& value) { values_.resize(position_of(count), value); }
  void assign(WholeNumber auto count, const T& value) { values_.assign(position_of(count), value); }
  template <std::input_iterator Iterator>
  void assign(Iterator begin, Iterator end) {
    values_.assign(begin, end);
  }
  void clear() { values_.clear(); }
  void push_back(const T& value) { values_.push_back(value); }
  void push_back(T&& value) { values_.push_back(std::move(value)); }
  template <class... Arguments>
  decltype(auto) emplace_back(Arguments&&... arguments) {
    return values_.emplace_back(std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
  iterator insert(const_iterator place, Arguments&&... arguments) {
    return values_.insert(place, std::forward<Arguments>(arguments)...);
  }
  void pop_back() { values_.pop_back(); }
  template <class Predicate>
  friend std::size_t erase_if(Indexed& from, Predicate is_gone) {
    return std::erase_if(from.values_, is_gone);
  }

  friend bool operator==(const Indexed&, const Indexed&) = default;
  friend bool operator==(const Indexed& one, const Values& other) { return one.values_ == other; }
  friend auto operator<=>(const Indexed&, const Indexed&) = default;

 private:
  Values values_;
};

/// An array with an entry for each id from 0 to length-1, such as for each enumerator of an enum.
template <class Index, class T, std::size_t length>
struct IndexedArray {
  using value_type = T;
  std::array<T, length> values;

  template <Indexes<Index> Id>
  [[nodiscard]] constexpr T& operator[](Id id) {
    return values[position_of(id)];
  }
  template <Indexes<Index> Id>
  [[nodiscard]] constexpr const T& operator[](Id id) const {
    return values[position_of(id)];
  }
  [[nodiscard]] static constexpr IndexedArray filled(const T& value) {
    IndexedArray result;
    result.values.fill(value);
    return result;
  }
  [[nodiscard]] static constexpr Ids<Index> ids() { return Ids<Index>(length); }
  [[nodiscard]] static constexpr std::size_t size() { return length; }
  [[nodiscard]] constexpr auto begin() { return values.begin(); }
  [[nodiscard]] constexpr auto begin() const { return values.begin(); }
  [[nodiscard]] constexpr auto end() { return values.end(); }
  [[nodiscard]] constexpr auto end() const { return values.end(); }
  friend bool operator==(const IndexedArray&, const IndexedArray&) = default;
};

/// A table with an entry for each pair of a row and a column, in one piece of memory.
template <class Row, class Column, class T>
class Grid {
 public:
  Grid() = default;
  Grid(WholeNumber auto rows, WholeNumber auto columns, const T& value = T())
      : columns_(position_of(columns)), values_(position_of(rows) * columns_, value) {}

  template <Indexes<Row> R, Indexes<Column> C>
  [[nodiscard]] typename std::vector<T>::reference operator()(R row, C column) {
    return values_[position_of(row) * columns_ + position_of(column)];
  }
  template <Indexes<Row> R, Indexes<Column> C>
  [[nodiscard]] typename std::vector<T>::const_reference operator()(R row, C column) const {
    return values_[position_of(row) * columns_ + position_of(column)];
  }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] auto begin() { return values_.begin(); }
  [[nodiscard]] auto begin() const { return values_.begin(); }
  [[nodiscard]] auto end() { return values_.end(); }
  [[nodiscard]] auto end() const { return values_.end(); }

 private:
  std::size_t columns_ = 0;
  std::vector<T> values_;
};

}  // namespace lockstep
