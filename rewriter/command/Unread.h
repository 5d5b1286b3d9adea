// Why a file could not be read, apart from other errors: a commit hook may go on.
#pragma once

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

namespace restride {

class Unread : public llvm::ErrorInfo<Unread> {
public:
  static char ID;
  explicit Unread(const llvm::Twine &Message) : Message(Message.str()) {}
  void log(llvm::raw_ostream &OS) const override { OS << Message; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

private:
  std::string Message;
};

} // namespace restride
