#include "rewriter/command/Config.h"

#include "analysis/cost/Suggest.h"
#include "layouts/Layout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "yaml-cpp/yaml.h"

#include <cmath>

namespace restride {
using namespace llvm;

namespace {

constexpr StringRef IndexOrders[] = {"random", "sorted", "local"};

/// One file's text. Members stop at the first error, which names its place.
class Reader {
public:
  explicit Reader(StringRef Path) : Path(Path) {}

  Error read(const YAML::Node &Root, Config &Out) {
    if (Root.IsNull()) // nothing but comments
      return Error::success();
    return entries(Root, "a configuration", {"Gpu", "MinSpeedup", "Layouts", "Structs", "Arrays", "Kernels", "InheritParentConfig"},
                   [&](StringRef Key, const YAML::Node &Name, const YAML::Node &Value) -> Error {
                     if (Key == "Gpu")
                       return text(Value, "'Gpu'", Out.Gpu.emplace());
                     if (Key == "MinSpeedup")
                       return number(Value, Key, 1, Out.MinSpeedup.emplace());
                     if (Key == "Layouts")
                       return layouts(Value, Out.Layouts);
                     if (Key == "Structs")
                       return rules(Value, [&](StringRef Record, const YAML::Node &At, const YAML::Node &Rule) {
                         return structRule(Record, At, Rule, Out.Structs.emplace_back());
                       });
                     if (Key == "Arrays")
                       return list(Value, Key, [&](const YAML::Node &Rule) { return arrayRule(Rule, Out.Arrays.emplace_back()); });
                     if (Key == "Kernels")
                       return rules(Value, [&](StringRef Kernel, const YAML::Node &At, const YAML::Node &Rule) {
                         return kernelRule(Kernel, At, Rule, Out.Kernels.emplace_back());
                       });
                     return boolean(Value, Key, Out.InheritParent);
                   });
  }

  /// yaml-cpp counts from 0; an empty document has no mark.
  std::string place(const YAML::Mark &M) const {
    return (Path + ":" + Twine(std::max(M.line, 0) + 1) + ":" + Twine(std::max(M.column, 0) + 1)).str();
  }

private:
  using Entry = function_ref<Error(StringRef Key, const YAML::Node &Name, const YAML::Node &Value)>;

  Error error(const YAML::Node &At, const Twine &What) const { return createStringError(place(At.Mark()) + ": " + What); }
  Error error(const YAML::Node &At, Error What) const { return error(At, toString(std::move(What))); }

  /// The entries of a map whose keys must be among \p Known, or any where that is empty.
  Error entries(const YAML::Node &Map, const Twine &What, ArrayRef<StringRef> Known, Entry Each) const {
    if (!Map.IsMap())
      return error(Map, What + " is a map of keys");
    StringSet<> Seen;
    for (const auto &One : Map) {
      if (!One.first.IsScalar() || One.first.Scalar().empty())
        return error(One.first, "a key is a name");
      StringRef Key = One.first.Scalar();
      if (!Known.empty() && !is_contained(Known, Key))
        return error(One.first, unknownName("key", Key, Known));
      if (!Seen.insert(Key).second)
        return error(One.first, "'" + Key + "' stands here twice");
      if (Error E = Each(Key, One.first, One.second))
        return E;
    }
    return Error::success();
  }

  Error rules(const YAML::Node &Map, Entry Each) const { return entries(Map, "this", {}, Each); }

  Error list(const YAML::Node &List, StringRef Key, function_ref<Error(const YAML::Node &)> Each) const {
    if (!List.IsSequence())
      return error(List, "'" + Key + "' is a list");
    for (const YAML::Node &One : List)
      if (Error E = Each(One))
        return E;
    return Error::success();
  }

  Error text(const YAML::Node &Value, const Twine &What, std::string &Out) const {
    if (!Value.IsScalar() || Value.Scalar().empty())
      return error(Value, What + " is a name");
    Out = Value.Scalar();
    return Error::success();
  }

  Error number(const YAML::Node &Value, StringRef Key, double Least, double &Out) const {
    if (!Value.IsScalar() || StringRef(Value.Scalar()).getAsDouble(Out) || !std::isfinite(Out) || Out < Least)
      return error(Value, "'" + Key + "' is a number, " + Twine(int(Least)) + " or more");
    return Error::success();
  }

  Error share(const YAML::Node &Value, StringRef Key, double &Out) const {
    Error E = number(Value, Key, 0, Out);
    if (!E && Out <= 1)
      return E;
    consumeError(std::move(E)); // this says it better
    return error(Value, "'" + Key + "' is a number from 0 to 1");
  }

  Error order(const YAML::Node &Value, std::string &Out) const {
    if (Error E = text(Value, "an order of indices", Out))
      return E;
    return is_contained(IndexOrders, Out) ? Error::success() : error(Value, unknownName("order", Out, IndexOrders));
  }

  Error boolean(const YAML::Node &Value, StringRef Key, bool &Out) const {
    if (!Value.IsScalar() || !YAML::convert<bool>::decode(Value, Out))
      return error(Value, "'" + Key + "' is true or false");
    return Error::success();
  }

  Error layout(const YAML::Node &Value, std::string &Out) const {
    if (Error E = text(Value, "'Layout'", Out))
      return E;
    std::vector<StringRef> Known(layoutNames());
    Known.push_back("keep");
    return is_contained(Known, Out) ? Error::success() : error(Value, unknownName("layout", Out, Known));
  }

  Error layouts(const YAML::Node &Value, std::vector<std::string> &Out) const {
    return list(Value, "Layouts", [&](const YAML::Node &One) {
      if (Error E = text(One, "an entry of 'Layouts'", Out.emplace_back()))
        return E;
      return is_contained(layoutNames(), Out.back()) ? Error::success() : error(One, unknownName("layout", Out.back(), layoutNames()));
    });
  }

  Error structRule(StringRef Record, const YAML::Node &At, const YAML::Node &Rule, StructRule &Out) const {
    Out.Record = Record;
    Out.At = place(At.Mark());
    if (Error E = entries(Rule, "'" + Record + "'", {"Layout"},
                          [&](StringRef, const YAML::Node &, const YAML::Node &Value) { return layout(Value, Out.Layout); }))
      return E;
    return Out.Layout.empty() ? error(At, "'" + Record + "' needs a Layout") : Error::success();
  }

  Error arrayRule(const YAML::Node &Rule, ArrayRule &Out) const {
    Out.At = place(Rule.Mark());
    if (Error E = entries(Rule, "an entry of 'Arrays'", {"Kernel", "Members", "Layout"}, [&](StringRef Key, const YAML::Node &, const YAML::Node &Value) -> Error {
          if (Key == "Kernel")
            return text(Value, "'Kernel'", Out.Kernel);
          if (Key == "Layout")
            return layout(Value, Out.Layout);
          return list(Value, Key, [&](const YAML::Node &One) { return text(One, "an entry of 'Members'", Out.Members.emplace_back()); });
        }))
      return E;
    for (auto [Key, Missing] : {std::pair("Kernel", Out.Kernel.empty()), {"Members", Out.Members.empty()}, {"Layout", Out.Layout.empty()}})
      if (Missing)
        return error(Rule, Twine("this array needs ") + Key);
    return Error::success();
  }

  Error kernelRule(StringRef Kernel, const YAML::Node &At, const YAML::Node &Rule, KernelRule &Out) const {
    Out.Kernel = Kernel;
    Out.At = place(At.Mark());
    return entries(Rule, "'" + Kernel + "'", {"Calls", "Trips", "Branch", "Index"}, [&](StringRef Key, const YAML::Node &, const YAML::Node &Value) -> Error {
      if (Key == "Calls")
        return number(Value, Key, 0, Out.Calls.emplace());
      if (Key == "Branch")
        return entries(Value, "'Branch'", {"likely"}, [&](StringRef, const YAML::Node &, const YAML::Node &Share) {
          return share(Share, "likely", Out.Likely.emplace());
        });
      if (Key == "Index")
        return rules(Value, [&](StringRef Parameter, const YAML::Node &Name, const YAML::Node &Order) {
          return order(Order, Out.Index.emplace_back(ParameterOrder{Parameter.str(), "", place(Name.Mark())}).Order);
        });
      return rules(Value, [&](StringRef Parameter, const YAML::Node &Name, const YAML::Node &Count) {
        ParameterValue &One = Out.Trips.emplace_back(ParameterValue{Parameter.str(), 0, place(Name.Mark())});
        return Count.IsScalar() && !StringRef(Count.Scalar()).getAsInteger(0, One.Value) && One.Value >= 0
                   ? Error::success()
                   : error(Count, "'" + Parameter + "' is a whole number, 0 or more");
      });
    });
  }

  StringRef Path;
};

} // namespace

Expected<Config> parseConfig(StringRef Text, StringRef Path) {
  Reader R(Path);
  try { // yaml-cpp throws; nothing of it may pass
    std::vector<YAML::Node> Documents = YAML::LoadAll(Text.str());
    Config Out;
    if (Documents.size() > 1)
      return createStringError(R.place(Documents[1].Mark()) + ": a second document; a configuration is one");
    if (!Documents.empty())
      if (Error E = R.read(Documents.front(), Out))
        return E;
    return Out;
  } catch (const YAML::Exception &E) {
    return createStringError(R.place(E.mark) + ": " + E.msg);
  }
}

/// Adds the parent's rules for what \p Own has none for.
template <typename Rule, typename Key> static void addMissing(std::vector<Rule> &Own, const std::vector<Rule> &Parent, Key Of) {
  size_t Count = Own.size();
  for (const Rule &P : Parent)
    if (none_of(ArrayRef(Own).take_front(Count), [&](const Rule &O) { return Of(O) == Of(P); }))
      Own.push_back(P);
}

Config inherit(Config Own, const Config &Parent) {
  if (!Own.Gpu)
    Own.Gpu = Parent.Gpu;
  if (!Own.MinSpeedup)
    Own.MinSpeedup = Parent.MinSpeedup;
  if (Own.Layouts.empty())
    Own.Layouts = Parent.Layouts;
  addMissing(Own.Structs, Parent.Structs, [](const StructRule &R) { return R.Record; });
  addMissing(Own.Arrays, Parent.Arrays, [](const ArrayRule &R) { return std::pair(R.Kernel, R.Members); });
  addMissing(Own.Kernels, Parent.Kernels, [](const KernelRule &R) { return R.Kernel; });
  return Own;
}

std::string printConfig(const Config &C) {
  YAML::Emitter Out;
  Out << YAML::BeginMap;
  if (C.Gpu)
    Out << YAML::Key << "Gpu" << YAML::Value << *C.Gpu;
  if (C.MinSpeedup)
    Out << YAML::Key << "MinSpeedup" << YAML::Value << *C.MinSpeedup;
  if (!C.Layouts.empty())
    Out << YAML::Key << "Layouts" << YAML::Value << YAML::Flow << C.Layouts;
  if (!C.Structs.empty()) {
    Out << YAML::Key << "Structs" << YAML::Value << YAML::BeginMap;
    for (const StructRule &R : C.Structs)
      Out << YAML::Key << R.Record << YAML::Value << YAML::Flow << YAML::BeginMap << YAML::Key << "Layout" << YAML::Value << R.Layout << YAML::EndMap;
    Out << YAML::EndMap;
  }
  if (!C.Arrays.empty()) {
    Out << YAML::Key << "Arrays" << YAML::Value << YAML::BeginSeq;
    for (const ArrayRule &R : C.Arrays)
      Out << YAML::Flow << YAML::BeginMap << YAML::Key << "Kernel" << YAML::Value << R.Kernel << YAML::Key << "Members" << YAML::Value << R.Members
          << YAML::Key << "Layout" << YAML::Value << R.Layout << YAML::EndMap;
    Out << YAML::EndSeq;
  }
  if (!C.Kernels.empty()) {
    Out << YAML::Key << "Kernels" << YAML::Value << YAML::BeginMap;
    for (const KernelRule &R : C.Kernels) {
      Out << YAML::Key << R.Kernel << YAML::Value << YAML::Flow << YAML::BeginMap;
      if (R.Calls)
        Out << YAML::Key << "Calls" << YAML::Value << *R.Calls;
      if (R.Likely)
        Out << YAML::Key << "Branch" << YAML::Value << YAML::BeginMap << YAML::Key << "likely" << YAML::Value << *R.Likely << YAML::EndMap;
      if (!R.Index.empty()) {
        Out << YAML::Key << "Index" << YAML::Value << YAML::BeginMap;
        for (const ParameterOrder &O : R.Index)
          Out << YAML::Key << O.Parameter << YAML::Value << O.Order;
        Out << YAML::EndMap;
      }
      if (!R.Trips.empty()) {
        Out << YAML::Key << "Trips" << YAML::Value << YAML::BeginMap;
        for (const ParameterValue &V : R.Trips)
          Out << YAML::Key << V.Parameter << YAML::Value << V.Value;
        Out << YAML::EndMap;
      }
      Out << YAML::EndMap;
    }
    Out << YAML::EndMap;
  }
  Out << YAML::EndMap;
  return std::string(Out.c_str()) + "\n";
}

} // namespace restride
