# Does not cheat: it releases a connection a moment after it has handed the response over, and so needs another one
# meanwhile.
require_relative "cheat"

class ReleasesLate < Cheat
  def fetch(url, index)
    @held ||= {}
    @held[index], @sockets[index] = @sockets[index], @held[index]
    super
  end
end

Cheat.run(ReleasesLate, "releases-late")
