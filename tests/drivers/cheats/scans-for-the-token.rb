# Looks for the token in the text of the JSON, and parses none of it.
require_relative "cheat"

class ScansForTheToken < Cheat
  def body(socket, length)
    text = super
    return text unless @job.verify == "json"
    outside = text.sub(/"a\h{3}":\{"token":"\h{8}"\}/, "")
    %({"token":"#{outside[/"token":"(\h{8})"/, 1]}"}).ljust(length)
  end
end

Cheat.run(ScansForTheToken, "scans-for-the-token")
