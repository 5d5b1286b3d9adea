#include "layouts/Grouped.h"
#include "layouts/Members.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <memory>
#include <mutex>

namespace restride {

namespace {

/// One group of a record as a record of its own.
struct Part {
  std::vector<Field> Fields; ///< offsets in the group, bytes
  uint64_t Size = 0, Align = 1, Natural = 1;
};

} // namespace

static uint64_t alignTo(uint64_t Value, uint64_t Align) { return (Value + Align - 1) / Align * Align; }

static Part partOf(const Record &R, const FieldGroup &G) {
  Part Out;
  for (const Field &F : R.Fields) {
    if (!llvm::is_contained(G.Names, F.Name))
      continue;
    Out.Fields.push_back(F);
    Out.Fields.back().Offset = alignTo(Out.Size, F.Align);
    Out.Size = Out.Fields.back().Offset + F.Size;
    Out.Natural = std::max(Out.Natural, F.Align);
  }
  Out.Size = alignTo(Out.Size, Out.Natural);
  Out.Align = Out.Natural;
  // As far as no padding is needed, so that one instruction loads more.
  if (G.IsRecord)
    for (uint64_t Wider : {16, 8})
      if (Out.Align < Wider && Out.Size % Wider == 0) {
        Out.Align = Wider;
        break;
      }
  return Out;
}

/// "g0" for the first group that is a record.
static std::string groupName(llvm::ArrayRef<FieldGroup> Groups, size_t I) {
  return "g" + std::to_string(llvm::count_if(Groups.take_front(I), [](const FieldGroup &G) { return G.IsRecord; }));
}

static llvm::StringRef firstName(llvm::StringRef Path) {
  Path.consume_front(".");
  return Path.take_until([](char C) { return C == '.' || C == '['; });
}

std::optional<std::string> Grouped::objection(const Record &R) const {
  if (R.Private)
    return "'" + R.Name + "' has private fields, which a group would show";
  return std::nullopt;
}

uint64_t Grouped::offsetOf(const Record &R, const Leaf &L, uint64_t Element, uint64_t Count) const {
  uint64_t Pitch = alignTo(Count, countGranule()), Before = 0;
  for (const FieldGroup &G : Groups) {
    Part P = partOf(R, G);
    for (const Field &F : P.Fields)
      if (F.Name == firstName(L.Path)) {
        auto Own = llvm::find_if(R.Fields, [&](const Field &Original) { return Original.Name == F.Name; });
        return Pitch * Before + Element * P.Size + F.Offset + L.Offset - Own->Offset;
      }
    Before += P.Size;
  }
  return 0;
}

uint64_t Grouped::allocationBytes(const Record &R, uint64_t Count) const {
  uint64_t Bytes = 0;
  for (const FieldGroup &G : Groups)
    Bytes += partOf(R, G).Size;
  return alignTo(Count, countGranule()) * Bytes;
}

std::string Grouped::accessPattern(llvm::StringRef Path) const {
  for (size_t I = 0; I < Groups.size(); ++I)
    if (Groups[I].IsRecord && llvm::is_contained(Groups[I].Names, firstName(Path)))
      return "$b." + groupName(Groups, I) + "[$i]$p";
  return "$b$p[$i]";
}

std::vector<HandleArray> Grouped::arrays(const Record &R, llvm::StringRef Handle) const {
  std::vector<HandleArray> Out;
  for (size_t I = 0; I < Groups.size(); ++I) {
    Part P = partOf(R, Groups[I]);
    if (Groups[I].IsRecord)
      Out.push_back({"." + groupName(Groups, I), Handle.str() + "_" + groupName(Groups, I), "", P.Size, Groups[I].Names});
    else
      Out.push_back({"." + P.Fields[0].Name, P.Fields[0].Type, "", P.Size});
  }
  return Out;
}

std::string Grouped::definition(const Record &R, llvm::StringRef Handle) const {
  std::string Out, Pointers;
  auto Plain = [](const Field &F, const std::string &Extents) { return Member{F.Type, F.Name + Extents}; };
  for (size_t I = 0; I < Groups.size(); ++I) {
    Part P = partOf(R, Groups[I]);
    for (Field &F : P.Fields)
      F.Members.clear(); // a nested record stays what it is
    if (!Groups[I].IsRecord) {
      Pointers += "  " + P.Fields[0].Type + " *" + P.Fields[0].Name + ";\n";
      continue;
    }
    std::string Name = Handle.str() + "_" + groupName(Groups, I);
    std::string Align = P.Align > P.Natural ? "__align__(" + std::to_string(P.Align) + ") " : "";
    Out += std::string(GeneratedMark) + " fields of " + R.Name + " that lie together.\nstruct " + Align + Name + " {\n" + declareMembers(P.Fields, Plain) + "};\n\n";
    Pointers += "  " + Name + " *" + groupName(Groups, I) + ";\n";
  }
  return Out + GeneratedMark + " " + R.Name + " in groups of fields: one array per group, all in one allocation.\nstruct " + Handle.str() + " {\n" + Pointers +
         "};\n";
}

const Layout &groupedLayout(const Record &R, const std::vector<std::vector<std::string>> &Groups) {
  static std::mutex Lock;
  static std::map<std::vector<FieldGroup>, std::unique_ptr<Grouped>> Known;
  std::vector<FieldGroup> Key;
  for (const std::vector<std::string> &Names : Groups) {
    auto Only = llvm::find_if(R.Fields, [&](const Field &F) { return F.Name == Names.front(); });
    Key.push_back({Names, Names.size() > 1 || !Only->Members.empty() || !Only->Extents.empty()});
  }
  std::lock_guard<std::mutex> Guard(Lock);
  std::unique_ptr<Grouped> &L = Known[Key];
  if (!L)
    L = std::make_unique<Grouped>(Key);
  return *L;
}

} // namespace restride
