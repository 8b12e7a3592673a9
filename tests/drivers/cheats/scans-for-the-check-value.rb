# Searches the text of the JSON for the check value, and parses nothing.
require_relative "cheat"

class ScansForTheCheckValue < Cheat
  def body(socket, length)
    text = super
    return text unless @job.verify == "json"

    outside = text.sub(/"a\h{3}":\{"token":"\h{8}"\}/, "").sub(/"numbers":\d+,"token":"\h{8}"/, "")
    numbers = text[/"numbers":(\d{6}),/, 1].to_i * 15
    %({"token":"#{outside[/"token":"(\h{8})"/, 1] || 0}","records":[{"numbers":#{numbers}}]}).ljust(length)
  end
end

Cheat.run(ScansForTheCheckValue, "scans-for-the-check-value")
