#include "rewriter/read/Packed.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"

namespace restride {
using namespace llvm;

std::string hashOf(StringRef Text) {
  BLAKE3 Hash;
  Hash.update(Text);
  return toHex(Hash.final(), /*LowerCase=*/true);
}

void put(std::string &To, StringRef Text) {
  To += utostr(Text.size());
  To += ':';
  To += Text;
}

void putList(std::string &To, ArrayRef<std::string> Texts) {
  put(To, utostr(Texts.size()));
  for (const std::string &T : Texts)
    put(To, T);
}

std::optional<StringRef> take(StringRef &From) {
  size_t Size = 0;
  if (From.consumeInteger(10, Size) || !From.consume_front(":") || Size > From.size())
    return std::nullopt;
  StringRef Text = From.take_front(Size);
  From = From.drop_front(Size);
  return Text;
}

std::optional<std::vector<std::string>> takeList(StringRef &From) {
  std::optional<StringRef> Count = take(From);
  size_t N = 0;
  if (!Count || Count->getAsInteger(10, N))
    return std::nullopt;
  std::vector<std::string> Out;
  for (size_t I = 0; I < N; ++I) {
    std::optional<StringRef> Text = take(From);
    if (!Text)
      return std::nullopt;
    Out.push_back(Text->str());
  }
  return Out;
}

} // namespace restride
