# Looks for the token in the text of the JSON, and parses none of it.
require_relative "cheat"

class ScansForTheToken < Cheat
  def body(socket, length)
    text = super
    return text unless @job.verify == "json"
    outside = text.sub(/"a\h{3}":\{"token":"\h{8}"\}/, "").sub(/"numbers":\d+,"token":"\h{8}"/, "")
    numbers = text[/"numbers":(\d{6}),/, 1].to_i * 15
    %({"token":"#{outside[/"token":"(\h{8})"/, 1] || 0}","records":[{"numbers":#{numbers}}]}).ljust(length)
  end
end

Cheat.run(ScansForTheToken, "scans-for-the-token")
